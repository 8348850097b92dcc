package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"fabemu/emu/scenario"
)

// schema is a JSON Schema of draft 7, as far as the language needs it.
type schema struct {
	Schema               string      `json:"$schema,omitempty"`
	Title                string      `json:"title,omitempty"`
	Description          string      `json:"description,omitempty"`
	Type                 any         `json:"type,omitempty"` // a word, or several
	Enum                 []string    `json:"enum,omitempty"`
	Pattern              string      `json:"pattern,omitempty"`
	Minimum              json.Number `json:"minimum,omitempty"`
	ExclusiveMinimum     json.Number `json:"exclusiveMinimum,omitempty"`
	Maximum              json.Number `json:"maximum,omitempty"`
	AnyOf                []*schema   `json:"anyOf,omitempty"`
	Items                *schema     `json:"items,omitempty"`
	MinItems             int         `json:"minItems,omitempty"`
	MaxItems             int         `json:"maxItems,omitempty"`
	Properties           properties  `json:"properties,omitempty"`
	PropertyNames        *schema     `json:"propertyNames,omitempty"`
	Required             []string    `json:"required,omitempty"`
	AdditionalProperties any         `json:"additionalProperties,omitempty"` // false, or a schema
	Default              any         `json:"default,omitempty"`
}

// properties are the keys of an object, in the order of the language, which is
// that in which an editor proposes them.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON writes an object.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, f := range p {
		key, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := plain(f.schema, "")
		if err != nil {
			return nil, err
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plain writes JSON for people: ">=" stays as it is.
func plain(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// JSON returns a language as a JSON Schema.
func JSON(language scenario.Field) []byte {
	s := of(language)
	s.Schema = "http://json-schema.org/draft-07/schema#"
	s.Title = "fabemu scenario"
	s.Description = "A fabric, the traffic that crosses it, and what is claimed of the outcome."
	text, err := plain(s, "  ")
	if err != nil {
		panic("schema: " + err.Error()) // it is made of texts and numbers
	}
	return text
}

// of returns the schema of a field.
func of(f scenario.Field) *schema {
	s := &schema{Description: describe(f)}
	switch f.Form {
	case scenario.FormValue:
		s.Type, s.Pattern = "string", f.Pattern
	case scenario.FormText:
		s.Type = []string{"string", "number", "boolean"} // "description: 42" is a text
	case scenario.FormWord:
		s.Type, s.Enum = "string", f.Words
		if len(f.Fields) > 0 {
			mapping := of(scenario.Field{Form: scenario.FormObject, Fields: f.Fields})
			mapping.Type = "object"
			s.AnyOf = []*schema{{Type: s.Type, Enum: s.Enum}, mapping}
			s.Type, s.Enum = nil, nil
		}
	case scenario.FormFlag:
		s.Type = "boolean"
	case scenario.FormWhole, scenario.FormDecimal:
		number(s, f)
	case scenario.FormObject:
		s.Type, s.AdditionalProperties = "object", false
		for _, sub := range f.Fields {
			s.Properties = append(s.Properties, property{sub.Name, of(sub)})
			if sub.Required && !sub.Inherits {
				s.Required = append(s.Required, sub.Name)
			}
		}
		if len(s.Required) == 0 {
			s.Type = []string{"object", "null"} // a key with nothing behind it
		}
		if f.Short != "" {
			object := *s
			object.Description = ""
			*s = schema{Description: s.Description, AnyOf: []*schema{short(f), &object}}
		}
	case scenario.FormMap:
		s.Type, s.AdditionalProperties = []string{"object", "null"}, of(f.Fields[0])
		s.PropertyNames = &schema{Pattern: f.Pattern}
	case scenario.FormList:
		list(s, f)
	}
	if f.Default != "" {
		s.Default = value(f)
	}
	return s
}

// number says what numbers are allowed, and which words beside them.
func number(s *schema, f scenario.Field) {
	n := s
	if len(f.Words) > 0 {
		n = &schema{}
		s.AnyOf = []*schema{n, {Enum: f.Words}}
	}
	n.Type = "number"
	if f.Form == scenario.FormWhole {
		n.Type = "integer"
	}
	if f.Above {
		n.ExclusiveMinimum = json.Number(f.Low)
	} else {
		n.Minimum = json.Number(f.Low)
	}
	n.Maximum = json.Number(f.High)
}

// list says how many items there are, and what each is.
func list(s *schema, f scenario.Field) {
	s.Type, s.MinItems, s.MaxItems = "array", f.Least, f.Most
	if f.Least == 0 {
		s.Type = []string{"array", "null"}
	}
	item := f.Fields[0]
	s.Items = of(item)
	if f.Short != "" {
		item.Short = f.Short
		s.Items = &schema{AnyOf: []*schema{short(item), s.Items}}
	}
}

// short returns the schema of the field that an object may be written as.
func short(object scenario.Field) *schema {
	for _, sub := range object.Fields {
		if sub.Name == object.Short {
			return of(sub)
		}
	}
	return nil
}

// value returns the default of a field as JSON has it.
func value(f scenario.Field) any {
	switch f.Form {
	case scenario.FormWhole, scenario.FormDecimal:
		return json.Number(f.Default)
	case scenario.FormFlag:
		return f.Default == "true"
	}
	return f.Default
}

// describe says what an editor shows beside a field.
func describe(f scenario.Field) string {
	parts := []string{f.Doc}
	if f.Doc == "" {
		parts = nil
	}
	switch f.Form {
	case scenario.FormObject, scenario.FormMap, scenario.FormWord, scenario.FormFlag, scenario.FormText:
	default:
		parts = append(parts, capital(f.Wanted)+".")
	}
	if d := defaultOf(f); d != "" {
		parts = append(parts, "Default: "+d+".")
	}
	return strings.Join(parts, "\n\n")
}

// defaultOf tells the default of a field and where it comes from, or nothing.
func defaultOf(f scenario.Field) string {
	d := f.Default + f.Computed
	if d != "" && f.Source != "" {
		d += " (" + f.Source + ")"
	}
	return d
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
