package object

// sameButTimes reports whether two objects are equal, ignoring resourceVersion, selfLink and the times of
// managed fields.
func sameButTimes(a, b, aMeta, bMeta map[string]any) bool {
	return equalBut(a, b, func(name string) bool { return name == "metadata" }) &&
		equalBut(aMeta, bMeta, func(name string) bool {
			return name == "managedFields" || name == "resourceVersion" || name == "selfLink"
		}) && sameFieldsButTimes(aMeta["managedFields"], bMeta["managedFields"])
}

func sameFieldsButTimes(a, b any) bool {
	x, ok := a.([]any)
	y, also := b.([]any)
	if !ok || !also || len(x) != len(y) || len(x) == 0 {
		return false
	}
	for i := range x {
		p, ok := x[i].(map[string]any)
		q, also := y[i].(map[string]any)
		if !ok || !also || !equalBut(p, q, func(name string) bool { return name == "time" }) {
			return false
		}
	}
	return true
}

// equalBut reports whether two objects are equal, ignoring members for which leave returns true.
func equalBut(a, b map[string]any, leave func(string) bool) bool {
	n := 0
	for name, v := range a {
		if leave(name) {
			continue
		}
		if w, found := b[name]; !found || !equalTree(v, w) {
			return false
		}
		n++
	}
	for name := range b {
		if !leave(name) {
			n--
		}
	}
	return n == 0
}

// equalTree compares JSON values.
func equalTree(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if w, found := y[name]; !found || !equalTree(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalTree(x[i], y[i]) {
				return false
			}
		}
		return true
	case string, bool, nil:
		return scalarType(b) && a == b
	}
	return sameNumber(a, b)
}

func scalarType(v any) bool {
	switch v.(type) {
	case string, bool, nil:
		return true
	}
	return false
}

// sameNumber compares numbers of different types by their JSON value.
func sameNumber(a, b any) bool {
	x, ok := toFloat(a)
	y, also := toFloat(b)
	if i, isInt := a.(int64); isInt {
		if j, alsoInt := b.(int64); alsoInt {
			return i == j
		}
	}
	return ok && also && x == y
}

func toFloat(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
