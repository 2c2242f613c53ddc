// The mutants of a package: all of them in one program, and a number turns one on.

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed switch.go.tmpl
var switches string

// negation is the kind of mutants that take a comparison for its opposite.
const negation = "CONDITIONALS_NEGATION"

// mutant is one change of one operator. Mutants are numbered from 1.
type mutant struct{ place, kind string }

// line returns the file and line of a mutant.
func (m mutant) line() string { return m.place[:strings.LastIndex(m.place, ":")] }

// file returns its file.
func (m mutant) file() string { return m.place[:strings.Index(m.place, ":")] }

// source rewrites the files of a package so that they hold all mutants. It inserts calls of the functions of switch.go.tmpl.
type source struct {
	fset    *token.FileSet
	pkg     *types.Package
	info    types.Info
	imports map[string]bool // of the file at hand
	edits   []edit          // of the file at hand
	mutants []mutant
}

type edit struct {
	offset, skip int
	text         string
}

func (e edit) class() int {
	if e.text == ")" {
		return 0
	}
	return 1
}

// overlay writes the rewritten package and a shorter poll.Until below out, and the file that makes "go test -overlay" take them.
func overlay(path, out string) (mutants []mutant, file string, err error) {
	var listed struct {
		Dir, ImportPath, Name string
		GoFiles               []string
	}
	raw, err := command("go", "list", "-json=Dir,ImportPath,Name,GoFiles", path)
	if err == nil {
		err = json.Unmarshal(raw, &listed)
	}
	if err != nil {
		return nil, "", err
	}
	s := &source{fset: token.NewFileSet(), info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	var files []*ast.File
	for _, name := range listed.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(listed.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, "", err
		}
		files = append(files, f)
	}
	if err := s.check(path, listed.ImportPath, files); err != nil {
		return nil, "", err
	}
	replace := map[string]string{}
	write := func(original string, text []byte) error {
		replace[original] = filepath.Join(out, strconv.Itoa(len(replace))+".go")
		return os.WriteFile(replace[original], text, 0o600)
	}
	for _, f := range files {
		name := s.fset.File(f.FileStart).Name()
		text, err := s.rewrite(f, name)
		if err == nil {
			err = write(name, text)
		}
		if err != nil {
			return nil, "", err
		}
	}
	text := fmt.Sprintf("package %s\n%s\nconst mutants = %d\n", listed.Name, switches, len(s.mutants))
	if err := write(filepath.Join(listed.Dir, "mutants_switch.go"), []byte(text)); err != nil {
		return nil, "", err
	}
	if err := shorten("internal/testkit/poll/poll.go", write); err != nil {
		return nil, "", err
	}
	raw, err = json.Marshal(map[string]any{"Replace": replace})
	file = filepath.Join(out, "overlay.json")
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	return s.mutants, file, err
}

// shorten makes tests give up after 8 s what they poll for, since many mutants are found by that.
func shorten(name string, write func(original string, text []byte) error) error {
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	short := bytes.Replace(text, []byte("limit = 2 * time.Minute"), []byte("limit = 8 * time.Second"), 1)
	if bytes.Equal(short, text) {
		return fmt.Errorf("%s has no limit of 2 minutes", name)
	}
	return write(name, short)
}

// check finds the types of all expressions.
func (s *source) check(path, importPath string, files []*ast.File) error {
	raw, err := command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", path)
	if err != nil {
		return err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = file
	}
	export := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", export)}
	s.pkg, err = config.Check(importPath, s.fset, files, &s.info)
	return err
}

// rewrite returns the text of a file with its mutants.
func (s *source) rewrite(f *ast.File, name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s.edits, s.imports = nil, map[string]bool{}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		s.imports[path] = true
	}
	ast.Inspect(f, s.visit)
	// Where several calls begin, the outer one was added first. At the end of an operand its calls end before its operator is replaced.
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Or(a.offset-b.offset, cmp.Compare(a.class(), b.class())) })
	var out bytes.Buffer
	at := 0
	for _, e := range s.edits {
		out.Write(text[at:e.offset])
		out.WriteString(e.text)
		at = e.offset + e.skip
	}
	out.Write(text[at:])
	return out.Bytes(), nil
}

// visit adds the mutants of a node.
func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.IncDecStmt:
		call := s.call("mutantSign", s.info.Types[n.X].Type, s.add(n.TokPos, "INCREMENT_DECREMENT"))
		s.insert(n.TokPos, 2, " "+n.Tok.String()[:1]+"= "+call+"1)")
	case *ast.AssignStmt:
		if t := s.info.Types[n.Lhs[0]].Type; (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && is(t, types.IsNumeric) {
			s.wrap(n.Rhs[0], s.call("mutantSign", t, s.add(n.TokPos, "INVERT_ASSIGNMENTS")))
		}
	case ast.Expr:
		if v := s.info.Types[n]; v.IsType() || v.Value != nil {
			return false
		}
		s.expression(n)
	}
	return true
}

// expression adds the mutants of an operator whose value is not a constant.
func (s *source) expression(n ast.Expr) {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			s.wrap(n, s.call("mutantSign", s.info.Types[n].Type, s.add(n.OpPos, "INVERT_NEGATIVES")))
		}
	case *ast.BinaryExpr:
		t := s.info.Types[n].Type
		operand := n.X
		if s.info.Types[operand].Value != nil {
			operand = n.Y
		}
		switch n.Op {
		case token.EQL, token.NEQ:
			s.wrap(n, s.call("mutantNot", nil, s.add(n.OpPos, negation)))
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			s.wrap(n, s.call("mutantNot", nil, s.add(n.OpPos, negation)))
			s.operator(n, s.call("mutantBound", s.info.Types[operand].Type, s.add(n.OpPos, "CONDITIONALS_BOUNDARY")))
		case token.ADD, token.SUB, token.MUL, token.QUO:
			if is(t, types.IsNumeric) {
				s.operator(n, s.call("mutantMath", t, s.add(n.OpPos, "ARITHMETIC_BASE")))
			}
		}
	}
}

func is(t types.Type, info types.BasicInfo) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&info != 0
}

// add makes a mutant and returns its number.
func (s *source) add(at token.Pos, kind string) int {
	p := s.fset.Position(at)
	s.mutants = append(s.mutants, mutant{place: fmt.Sprintf("%s:%d:%d", filepath.Base(p.Filename), p.Line, p.Column), kind: kind})
	return len(s.mutants)
}

// call begins the call of a function for a mutant. A type that the file cannot name is inferred.
func (s *source) call(function string, t types.Type, number int) string {
	named := t != nil
	name := ""
	if named {
		name = types.TypeString(t, func(p *types.Package) string {
			if p == s.pkg {
				return ""
			}
			named = named && s.imports[p.Path()]
			return p.Name()
		})
	}
	if named {
		function += "[" + name + "]"
	}
	return function + "(" + strconv.Itoa(number) + ", "
}

func (s *source) insert(at token.Pos, skip int, text string) {
	s.edits = append(s.edits, edit{offset: s.fset.Position(at).Offset, skip: skip, text: text})
}

// wrap puts an expression into a call.
func (s *source) wrap(n ast.Expr, call string) {
	s.insert(n.Pos(), 0, call)
	s.insert(n.End(), 0, ")")
}

// operator puts the operands of n into a call that gets the operator, too.
func (s *source) operator(n *ast.BinaryExpr, call string) {
	s.wrap(n, call+strconv.Quote(n.Op.String())+", ")
	s.insert(n.OpPos, len(n.Op.String()), ",")
}
