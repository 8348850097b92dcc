//go:build !soak

package random_test

// dividedFabrics is how many random fabrics are divided among domains and loops; scripts/soak.sh
// has more.
const dividedFabrics = 30
