package unit

// Jain returns Jain's fairness index of rates: 1 if all are equal, 1/n if one of n has everything,
// not a number if all are 0.
func Jain(rates []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range rates {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(rates)) * squares)
}
