// Package schema writes the scenario language down for others: as a JSON Schema,
// by which an editor completes and explains a scenario while it is written, and
// as the reference in docs/reference.
//
// Both are generated from the table that [resolve.Load] follows ([scenario.Language],
// [scenario.LanguageOf]), so they always agree with the reader.
//
// # Limitations
//
// The schema is of draft 7, which editors support. It describes the form of each
// field, not how the fields fit together: names that do not exist, flows without
// a path and times after the end are for Load to find ("fabemu check"). A value
// in quotes is a text for the schema, also where Load takes "4" for 4.
package schema
