package scenario

// rowOf returns the first row of a table that matches.
func rowOf[R any](rows []R, matches func(*R) bool) (row R, ok bool) {
	for i := range rows {
		if matches(&rows[i]) {
			return rows[i], true
		}
	}
	return row, false
}

func namesOf[T any](all []T, name func(*T) string) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = name(&all[i])
	}
	return names
}
