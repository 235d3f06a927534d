//! The guard of a loop in a function that gets an array by pointer: the array's extent is known at the calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Field, Kind, Member, Node};
use cuda_syntax::identifiers::identifiers;
use cuda_syntax::tree::{Declaration, DeclarationKind, enclosing_function, resolve, role};
use cuda_syntax::types;
use lmem_frame::Access;

use super::for_loop::ForLoop;
use super::guard::Guard;
use super::sizes::{base_of, given_sizes};
use crate::rewrite::facts::calls::arguments_at_all_calls;
use crate::rewrite::facts::variables::variable;

impl ForLoop {
    /// The guarded loop in a function that gets an array of `elements` elements by pointer. All calls of the
    /// function must pass this array, or others of its type. The induction variable must be the whole index of every access.
    /// Template instances may get arrays of other sizes.
    pub fn guarded_parameter(
        &self,
        array: &str,
        type_text: &str,
        elements: u64,
        accesses: &[&Access],
    ) -> Option<Guard> {
        let tree = self.tree();
        let function = enclosing_function(self.node()?)?;
        let body = self.node()?.field(Field::Body)?;
        let counter = self.counter();
        let mut indices = accesses.iter().filter_map(|access| access.index.as_ref()).map(|span| span.text().trim());
        let is_direct = indices.all(|index| index == counter || !identifiers(index).any(|word| word == counter));
        if !is_direct || is_template(function) {
            return None;
        }
        let is_whole = |used: &Node<'_>| {
            let index = used.field(Field::Indices).and_then(|list| list.named_child(0));
            let base = used.field(Field::Argument).filter(|base| base.kind() == Kind::Identifier);
            index.is_some_and(|index| tree.slice(index) == counter)
                && base.is_some_and(|base| is_given(tree, function, base, array, type_text))
        };
        let subscripts = body.descendants().filter(|node| node.kind() == Kind::SubscriptExpression);
        let is_inevitable = subscripts.filter(is_whole).any(|used| self.accesses(used, true));
        is_inevitable.then(|| self.bounded_by(&elements.to_string()))?
    }
}

/// The extents of the local arrays that a parameter is at all calls of its function, which are all of one type; `None` if it moves, or
/// if others may call the function.
pub(in crate::rewrite) fn given_extents(tree: &SyntaxTree, base: Node<'_>) -> Option<Rc<[String]>> {
    let function = enclosing_function(base).filter(|_| base.kind() == Kind::Identifier)?;
    let own = tree.declarations(function);
    let own = resolve(&own, tree.slice(base), base.start_byte()).filter(|found| found.is_parameter)?;
    let known = tree.kept(|_| Given::default());
    let found = known.0.borrow().get(&own.range.0).cloned();
    found.unwrap_or_else(|| {
        let found: Option<Rc<[String]>> = extents_at_all_calls(tree, function, own).map(Into::into);
        known.0.borrow_mut().insert(own.range.0, found.clone());
        found
    })
}

/// What parameters are at all calls, by the offsets of their names, as each of their elements asks for it.
#[derive(Default)]
struct Given(RefCell<HashMap<usize, Option<Rc<[String]>>>>);

fn extents_at_all_calls(tree: &SyntaxTree, function: Node<'_>, own: &Declaration) -> Option<Vec<String>> {
    if is_template_of_values(tree, function) {
        return None;
    }
    let arguments = arguments_for(tree, function, own)?;
    let extents: Vec<Vec<Extent>> =
        arguments.iter().map(|argument| local_extents(tree, *argument, own)).collect::<Option<_>>()?;
    let (first, others) = extents.split_first()?;
    let are_equal = others.iter().all(|it| it.iter().map(|it| it.value).eq(first.iter().map(|it| it.value)));
    let is_named = |at: usize, extent: &Extent| others.iter().all(|it| it[at].text == extent.text);
    let text = |(at, extent): (usize, &Extent)| match is_named(at, extent) {
        true => extent.text.clone(),
        false => extent.value.to_string(),
    };
    are_equal.then(|| first.iter().enumerate().map(text).collect())
}

/// The arguments for a parameter that is a pointer to elements and never moves, at all calls.
fn arguments_for<'t>(tree: &'t SyntaxTree, function: Node<'t>, own: &Declaration) -> Option<Vec<Node<'t>>> {
    let body = function.field(Field::Body)?;
    let is_kept = matches!(own.kind, DeclarationKind::Alias | DeclarationKind::Array)
        && !tree.named(body, &own.name).any(|name| role(name).1 && !is_handed(name));
    is_kept.then(|| arguments_at_all_calls(tree, function, own))?
}

/// A function that gets a pointer has a copy of it.
fn is_handed(name: Node<'_>) -> bool {
    name.parent().is_some_and(|parent| parent.kind() == Kind::ArgumentList)
}

/// The size of a dimension.
struct Extent {
    value: u64,
    /// As text for the place of a parameter.
    text: String,
}

/// The extents of a local array, or of the rows of one, with elements of a parameter's type.
fn local_extents(tree: &SyntaxTree, argument: Node<'_>, parameter: &Declaration) -> Option<Vec<Extent>> {
    let sizes = given_sizes(tree, argument)?;
    // `T` of `T* p` is the type of the elements that it points to.
    let wanted = element(&parameter.type_text);
    let is_any = tree.is_template_parameter(&wanted, parameter.range.0);
    let own = variable(tree, base_of(argument)).filter(|own| is_any || element(&own.type_text) == wanted)?;
    let is_plain = !own.type_text.contains('*') && own.volatility.is_none();
    let extent = |size: &Node<'_>| {
        let value = u64::try_from(tree.evaluate(tree.slice(*size), size.start_byte())?).ok()?;
        let text = tree.spelled(*size, parameter.range.0);
        let is_same = |text: &String| tree.evaluate(text, parameter.range.0) == i64::try_from(value).ok();
        Some(Extent { value, text: text.filter(is_same).unwrap_or_else(|| value.to_string()) })
    };
    sizes.iter().map(extent).collect::<Option<_>>().filter(|_| is_plain)
}

/// Whether a function, or a class or function around, is a template of anything but types: the size of one instance would be written
/// into all.
fn is_template_of_values(tree: &SyntaxTree, function: Node<'_>) -> bool {
    let templates = function.ancestors().filter(|it| it.kind() == Kind::TemplateDeclaration);
    let parameters = templates.filter_map(|it| it.field(Field::Parameters)).flat_map(Node::parts);
    parameters.into_iter().any(|it| !matches!(tree.slice(it).split_whitespace().next(), Some("class" | "typename")))
}

/// Whether a name is a parameter that always is the array, or a local one of the same type: a pointer to its elements,
/// which nothing moves, in a function that the file calls with such arrays alone.
fn is_given(tree: &SyntaxTree, function: Node<'_>, base: Node<'_>, array: &str, type_text: &str) -> bool {
    let given = || {
        let name = tree.slice(base);
        let all = tree.declarations(function);
        let own = resolve(&all, name, base.start_byte()).filter(|found| found.is_parameter)?;
        let body = function.field(Field::Body)?;
        let is_kept = own.kind == DeclarationKind::Alias && !tree.named(body, name).any(|name| role(name).1);
        let is_row = own.type_text.contains('*') != own.type_text.contains('[') && !type_text.contains('*');
        let arguments = arguments_at_all_calls(tree, function, own)?;
        let is_alike = |argument: &Node<'_>| tree.slice(*argument) == array || is_local_row(tree, *argument, type_text);
        // An argument of that name may be a parameter of a function that hands it on.
        let is_own = |argument: &Node<'_>| {
            let root = std::iter::successors(Some(*argument), |it| Member::of(*it).and_then(Member::object)).last();
            let own = root.and_then(|root| variable(tree, root));
            own.is_some_and(|own| own.kind.has_parts() && !own.is_parameter)
        };
        let is_given = arguments.iter().any(|argument| tree.slice(*argument) == array && is_own(argument))
            && (arguments.len() == 1 || arguments.iter().all(|it| is_local_row(tree, *it, type_text)))
            && arguments.iter().all(is_alike);
        Some(is_kept && is_row && element(&own.type_text) == element(type_text) && is_given)
    };
    given().unwrap_or(false)
}

/// `float` of `const float*` and `float[8]`.
fn element(type_text: &str) -> String {
    let element = type_text.split(['*', '[', '&', '(']).next().unwrap_or("");
    element.split_whitespace().filter(|word| *word != "const").collect::<Vec<_>>().join(" ")
}

/// Whether an argument is a local array of a type, such as `float[8]`, of one dimension.
fn is_local_row(tree: &SyntaxTree, argument: Node<'_>, type_text: &str) -> bool {
    let is_row = || {
        let all = tree.declarations(enclosing_function(argument).filter(|it| !is_template(*it))?);
        let own = resolve(&all, tree.slice(argument), argument.start_byte())?;
        let is_array =
            own.kind == DeclarationKind::Array && !own.is_parameter && own.type_text.matches('[').count() == 1;
        let extents = types::extent(&own.type_text).or_else(|| extent_of(tree, own)).zip(types::extent(type_text));
        Some(
            is_array
                && extents.is_some_and(|(one, other)| one == other)
                && element(&own.type_text) == element(type_text),
        )
    };
    argument.kind() == Kind::Identifier && is_row().unwrap_or(false)
}

/// The extent in `float[N]`, by its value.
fn extent_of(tree: &SyntaxTree, own: &Declaration) -> Option<u64> {
    let extent = own.type_text.split_once('[')?.1.strip_suffix(']')?;
    u64::try_from(tree.evaluate(extent, own.range.0)?).ok()
}

/// Whether a function, or an enclosing class or function, is a template.
fn is_template(function: Node<'_>) -> bool {
    function.enclosing(Kind::TemplateDeclaration).is_some()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use lmem_base::edit::apply;

    #[test]
    fn loops_over_parameters_run_to_the_extent_of_the_only_array() {
        let edited = |body: &str, calls: &str| {
            let text = format!(
                "__device__ void f(float *p, const float* q, int n) {{\n  {body}\n}}\n__global__ void k() {{ {calls} }}"
            );
            let tree = Rc::new(SyntaxTree::example("a.cu", &text));
            let found = super::super::for_loop::for_loops(&tree, text.find("HERE")?);
            let guard = found.first()?.guarded_parameter("a", "float[4]", 4, &[])?;
            let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
            Some(edited.lines().skip(1).map(str::trim).take_while(|line| *line != "}").collect::<Vec<_>>().join(" "))
        };
        let body = "for (int i = 0; i < n; ++i) { p[i] = q[i] + HERE; }";
        let expected = "#pragma unroll for (int i = 0; i < 4; ++i) if (i < n) { p[i] = q[i] + HERE; }";
        assert_eq!(edited(body, "float a[4]; f(a, b, 3);").as_deref(), Some(expected));
        // Other arrays of the same extent.
        let calls = "constexpr int W = 4; float a[4], b[4], c[W]; f(a, b, 3); f(c, a, 2);";
        assert_eq!(edited(body, calls).as_deref(), Some(expected));
        for (body, calls) in [
            (body, "f(a, b, 3); f(c, b, 9);"),
            (body, "float a[4], b[4], c[5]; f(a, b, 3); f(c, b, 9);"),
            (body, "float a[4], b[4]; double c[4]; f(a, b, 3); f(c, b, 9);"),
            (body, "float a[4], b[4], *c = in; f(a, b, 3); f(c, b, 9);"),
            (body, "float a[4], b[4]; f(a, b, 3); f(b + 0, b, 9);"),
            (body, "float a[4], b[4]; f(a, b, 3); auto g = f;"),
            // Another array, a part of one, and one of two.
            (body, "f(b, b, 3);"),
            (body, "f(a + 1, b, 3);"),
            (body, "f(n ? a : b, b, 3);"),
            // A round beyond the extent that does something else.
            ("for (int i = 0; i < n; ++i) { if (q[i] < 0) { q[i] = HERE; break; } p[i] = q[i]; }", "f(a, b, 3);"),
            ("p -= 4; for (int i = 0; i < n; ++i) { p[i] = q[i] + HERE; }", "f(a, b, 3);"),
            ("for (int i = 0; i < n; ++i) { p[0] = q[i] + HERE; }", "f(a, b, 3);"),
        ] {
            assert_eq!(edited(body, calls), None, "{body} {calls}");
        }
    }

    /// The loop of `add` with its calls.
    fn guarded(before: &str, head: &str, body: &str, calls: &str) -> Option<String> {
        let text = format!(
            "{before}{head} {{ {body} }}\n__global__ void k(float* in, int n) {{ float a[8], b[8], m[4][8]; double d[8]; {calls} }}\n"
        );
        let tree = Rc::new(SyntaxTree::example("a.cu", &text));
        let found = super::super::for_loop::for_loops(&tree, text.find("; ++i)")?);
        let guard = found.first()?.guarded(&super::super::extent::WantedArray::new("p", &[]))?;
        let edited = apply(&text, &guard.edits.iter().collect::<Vec<_>>())?;
        let loops = edited.get(edited.find("for (")?..)?;
        loops.split_once(" }").map(|(text, _)| text.to_string())
    }

    #[test]
    fn loops_end_where_the_arrays_at_all_calls_do() {
        let add = "__device__ void add(float* p, const float* q, int n)";
        let body = "for (int i = 0; i < n; ++i) p[i] += q[i];";
        let expected = "for (int i = 0; i < 8; ++i) if (i < n) p[i] += q[i];";
        assert_eq!(
            guarded("", add, body, "add(a, in, n); add(b, in, n); add(m[n], in, n);").as_deref(),
            Some(expected)
        );
        let typed = "template <typename T> __device__ void add(T* p, const T* q, int n)";
        assert_eq!(guarded("", typed, body, "add(a, in, n);").as_deref(), Some(expected));
        for calls in ["add(a, in, n); add((float*)d, in, n);", "add(a, in, n); add<float>(in, a, n);", "add(m, in, n);"]
        {
            assert_eq!(guarded("", typed, body, calls), None, "{calls}");
        }
        let of_type = "template <class F> __device__ void add(F f, float* p, const float* q, int n)";
        assert_eq!(guarded("", of_type, body, "add(n, a, in, n); add(n, b, in, n);").as_deref(), Some(expected));
        for calls in [
            // Global memory, another size, another type, all rows, a part; and a pointer to the function.
            "add(a, in, n); add(in, a, n);",
            "float c[9]; add(a, in, n); add(c, in, n);",
            "add(m[0], in, n);",
            "add(m[n], in, n); add(m[0], in, n);",
            "add(a + 1, in, n);",
            "add(a, in, n); auto f = add;",
            "add(a, in, n); call<add>(in, n);",
            "add(a, in, n);\n#define MORE add(in, a, n)\nMORE;",
            "add(a, in, n);\n#define JOIN(x, y) x##y\nJOIN(a, dd)(in, a, n);",
            "float* c = a; add(c, in, n);",
            "static_cast<void>(0);",
        ] {
            assert_eq!(guarded("", add, body, calls), None, "{calls}");
        }
        let moved = "++p; for (int i = 0; i < n; ++i) p[i] += q[i];";
        assert_eq!(guarded("", add, moved, "add(a, in, n);"), None);
        let of_values = "template <int N> __device__ void add(float* p, const float* q, int n)";
        assert_eq!(guarded("", of_values, body, "add<3>(a, in, n);"), None);
    }

    #[test]
    fn objects_are_called_by_their_operators() {
        let class = "struct Step { int n; float h; ";
        let head = "__device__ void operator()(float* p, const float* q) const";
        let body = "for (int i = 0; i < n; ++i) p[i] = h * q[i];";
        let with = |more: &str, calls: &str| {
            let text = format!(
                "{class}{head} {{ {body} }} }};\n{more}\n__global__ void k(Step s, float* in) {{ float a[8], b[8], c[9]; {calls} }}\n"
            );
            let tree = Rc::new(SyntaxTree::example("a.cu", &text));
            let found = super::super::for_loop::for_loops(&tree, text.find("; ++i)")?);
            let guard = found.first()?.guarded(&super::super::extent::WantedArray::new("p", &[]))?;
            apply(&text, &guard.edits.iter().collect::<Vec<_>>()).map(|it| it.contains("i < 8 && i < n"))
        };
        let run = "template <class F> __device__ void run(const F& f, const float* y) { float k[8]; f(k, y); }";
        assert_eq!(with("", "s(a, in); s(b, a);"), Some(true));
        assert_eq!(with(run, "s(a, in); run(s, a);"), Some(true));
        assert_eq!(with("", "s(a, in); s.operator()(b, in);"), Some(true));
        for (more, calls) in [
            ("", "s(a, in); s(c, in);"),
            ("", "s(a, in); s(in, a);"),
            ("", "s(a, in); Step{3, 2}(in, a);"),
            ("", "s(a, in); s.operator()(in, a);"),
            // Code that is not in the text may call it, and so may what has it as a member or by another name.
            ("", "s(a, in); each(in, s);"),
            ("", "s(a, in); each(in, Step{3, 2});"),
            ("", "s(a, in); each<Step>(in, 3);"),
            ("", "s(a, in); Each<Step> e; e.run(in);"),
            ("using Other = Step;", "s(a, in); Other o{3, 2}; o(in, a);"),
            (
                "struct Holder { Step step; __device__ void go(float* p) { step(p, p); } };",
                "s(a, in); Holder{s}.go(in);",
            ),
            ("template <class F> __device__ void run(const F& f, float* y) { f(y, y); }", "s(a, in); run(s, in);"),
            ("struct Derived : Step { };", "s(a, in); Derived d; d(in, a);"),
            ("#define RUN(p) s(p, p)", "s(a, in); RUN(in);"),
        ] {
            assert_eq!(with(more, calls), None, "{more} {calls}");
        }
    }

    #[test]
    fn sizes_of_one_instance_are_not_written_into_templates() {
        let text = "template <int N> __device__ void f(float (&v)[N], int n) {\n  for (int i = 0; i < n; ++i) v[i] = HERE;\n}\n\
                    __global__ void k(int n) { float a[10]; f(a, n); }\n";
        let tree = Rc::new(SyntaxTree::example("a.cu", text));
        let found = super::super::for_loop::for_loops(&tree, text.find("HERE").unwrap());
        assert!(found[0].guarded_parameter("a", "float[10]", 10, &[]).is_none());
        let plain = text.replace("template <int N> ", "").replace("(&v)[N]", "*v");
        let tree = Rc::new(SyntaxTree::example("a.cu", &plain));
        let found = super::super::for_loop::for_loops(&tree, plain.find("HERE").unwrap());
        assert!(found[0].guarded_parameter("a", "float[10]", 10, &[]).is_some());
    }
}
