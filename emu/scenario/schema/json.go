package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"fabemu/wire/param"
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
func JSON(language *param.Param) []byte {
	s := schemaOf(language)
	s.Schema = "http://json-schema.org/draft-07/schema#"
	s.Title = "fabemu scenario"
	s.Description = "A fabric, the traffic that crosses it, and claims about the outcome."
	text, err := plain(s, "  ")
	if err != nil {
		panic("schema: " + err.Error()) // it is made of texts and numbers
	}
	return text
}

// schemaOf returns the schema of a parameter.
func schemaOf(p *param.Param) *schema {
	s := &schema{Description: describe(p)}
	switch p.Kind {
	case param.Text:
		s.Type = []string{"string", "number", "boolean"} // "description: 42" is a text
	case param.Word:
		s.Type, s.Enum = "string", p.Words
	case param.Flag:
		s.Type = "boolean"
	case param.Whole, param.Decimal:
		number(s, p)
	case param.Object:
		object(s, p)
	case param.Map:
		s.Type, s.AdditionalProperties = []string{"object", "null"}, schemaOf(p.Item)
		s.PropertyNames = &schema{Pattern: p.Pattern()}
	case param.List:
		s.Type, s.MinItems, s.MaxItems = "array", max(p.Least, p.Length), p.Length
		if s.MinItems == 0 {
			s.Type = []string{"array", "null"}
		}
		s.Items = schemaOf(p.Item)
		if p.Short != "" {
			s.Items = &schema{AnyOf: []*schema{schemaOf(p.Item.Object.Find(p.Short)), s.Items}}
		}
	default:
		s.Type, s.Pattern = "string", p.Pattern()
		if p.Listed() {
			s.Type = []string{"string", "array"}
		}
	}
	if p.Default != "" {
		s.Default = value(p)
	}
	return s
}

// object lists the keys of a mapping.
func object(s *schema, p *param.Param) {
	s.Type, s.AdditionalProperties = "object", false
	for i := range p.Object.Params {
		sub := &p.Object.Params[i]
		key := schemaOf(sub)
		if len(sub.Parts) > 0 {
			key.AnyOf = []*schema{{Type: key.Type, Enum: key.Enum}, mapping(p.Object, sub)}
			key.Type, key.Enum = nil, nil
		}
		s.Properties = append(s.Properties, property{sub.Key, key})
		if sub.Required && !sub.Inherits {
			s.Required = append(s.Required, sub.Key)
		}
	}
	if len(s.Required) == 0 {
		s.Type = []string{"object", "null"} // a key with nothing behind it
	}
	if p.Short != "" {
		object := *s
		object.Description = ""
		*s = schema{Description: s.Description, AnyOf: []*schema{schemaOf(p.Object.Find(p.Short)), &object}}
	}
}

// mapping returns the schema of a mapping that may be in the place of a value.
func mapping(around *param.Struct, p *param.Param) *schema {
	s := &schema{Type: "object", AdditionalProperties: false}
	for _, part := range p.Parts {
		s.Properties = append(s.Properties, property{part.Key, schemaOf(around.Find(part.Field))})
	}
	return s
}

// number gives the allowed numbers, and the words in addition to them.
func number(s *schema, p *param.Param) {
	n := s
	if words := p.Beside(); len(words) > 0 {
		n = &schema{}
		s.AnyOf = []*schema{n, {Enum: words}}
	}
	n.Type = "number"
	if p.Kind == param.Whole {
		n.Type = "integer"
	}
	low, high, above := p.Range()
	if above {
		n.ExclusiveMinimum = json.Number(low)
	} else {
		n.Minimum = json.Number(low)
	}
	n.Maximum = json.Number(high)
}

// value returns the default of a parameter as in JSON.
func value(p *param.Param) any {
	switch {
	case p.Kind == param.Whole && p.Default != p.None, p.Kind == param.Decimal && p.Default != p.None:
		return json.Number(p.Default)
	case p.Kind == param.Flag:
		return p.Default == "true"
	}
	return p.Default
}

// describe returns the text that an editor shows in addition to a parameter.
func describe(p *param.Param) string {
	var parts []string
	if p.Doc != "" {
		parts = append(parts, p.Doc)
	}
	switch p.Kind {
	case param.Object, param.Map, param.Word, param.Flag, param.Text:
	default:
		if wanted := p.Wanted(); wanted != "" {
			parts = append(parts, strings.ToUpper(wanted[:1])+wanted[1:]+".")
		}
	}
	if usual := p.Default + p.Computed; usual != "" {
		if p.Source != "" {
			usual += " (" + p.Source + ")"
		}
		parts = append(parts, "Default: "+usual+".")
	}
	return strings.Join(parts, "\n\n")
}
