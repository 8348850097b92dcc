package rp

// Constructors of algorithms for tests alone: the product makes them from the table of algorithms.

func NewAIMD(p MultiplicativeParams, s Site) (*AIMD, error) { return checked(p, s, newAIMD) }
func NewFIMD(p MultiplicativeParams, s Site) (*FIMD, error) { return checked(p, s, newFIMD) }
func NewHPCC(p HPCCParams, s Site) (*HPCC, error)           { return checked(p, s, newHPCC) }
func NewLIPD(p LIPDParams, s Site) (*LIPD, error)           { return checked(p, s, newLIPD) }
func NewSwift(p SwiftParams, s Site) (*Swift, error)        { return checked(p, s, newSwift) }
func NewTimely(p TimelyParams, s Site) (*Timely, error)     { return checked(p, s, newTimely) }
func NewNSCC(p NSCCParams, s Site) (*NSCC, error)           { return checked(p, s, newNSCC) }
