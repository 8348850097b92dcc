package unit

// Jain returns Jain's fairness index of rates: 1 if all are equal, 1/n if one of n has everything,
// not a number if all are 0.
func Jain(rates []float64) float64 {
	var squares Total
	for _, v := range rates {
		squares.Add(v * v)
	}
	sum := Sum(rates)
	return sum * sum / (float64(len(rates)) * squares.Value())
}
