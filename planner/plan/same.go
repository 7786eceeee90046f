package plan

import (
	"encoding/json"
	"reflect"
)

// looks are the parts of a plan that may change over existing state: places in the
// text, what the planner says about the plan, and how connectors and broken rows are
// dealt with. They mean nothing to what the state holds.
var looks = map[string]bool{"pos": true, "notices": true, "order_sensitive": true, "guarantee": true, "why": true, "options": true, "on_error": true,
	"late_rows": true, "declared": true, "idle_timeout": true}

// Same reports that two plans compute the same from the same tables, so that state made
// by one can be gone on with by the other.
func Same(a, b *Plan) (bool, error) {
	x, err := bare(a)
	if err != nil {
		return false, err
	}
	y, err := bare(b)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(x, y), nil
}

// bare gives the JSON form of a plan without its looks.
func bare(p *Plan) (any, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return strip(v), nil
}

func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if looks[k] {
				delete(v, k)
				continue
			}
			v[k] = strip(x)
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
	}
	return v
}
