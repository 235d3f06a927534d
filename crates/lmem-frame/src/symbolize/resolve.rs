//! Finds the variables that an access may use. Parameters and methods of inlined functions are mapped to the call site,
//! out to the level whose statement names a local variable.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use cuda_syntax::ast::Node;

use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::{Declaration, DeclarationKind, MemberSyntax, Mention};
use cuda_syntax::{SyntaxTrees, types};
use lmem_base::mangling::{bind, demangle, template_arguments};
use lmem_unit::FrontEndVariable;
use nv_code::AccessKind;

use super::argument_mapping::{CallPart, CalledParts, Handed, parts_of_calls};
use super::{auto_variables, macro_kernel};
use crate::place::Place;

/// A use of a variable that may be the access.
#[derive(Clone)]
pub struct Found {
    /// The inlining level of the statement with the use; 0 is the innermost.
    pub level: usize,
    pub mention: Mention,
    /// The uses at the innermost level that stand for the variable, as a parameter or member: `slot[head]`.
    pub inner: Vec<Use>,
}

/// A source expression that an access may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub range: Range<usize>,
    pub indices: Vec<Range<usize>>,
    /// Indices in the initializer of an alias.
    pub outer: Vec<Range<usize>>,
    pub is_read: bool,
    pub is_written: bool,
}

impl Use {
    pub fn of(mention: &Mention) -> Self {
        Self {
            range: mention.range.clone(),
            indices: mention.indices.clone(),
            outer: mention.outer.clone(),
            is_read: mention.is_read,
            is_written: mention.is_written,
        }
    }

    fn of_member(member: MemberSyntax) -> Self {
        let MemberSyntax { range, indices, is_read, is_written } = member;
        Self { range, indices, outer: Vec::new(), is_read, is_written }
    }

    pub fn all(&self) -> impl Iterator<Item = &Range<usize>> {
        self.indices.iter().chain(&self.outer)
    }
}

/// What is known of an access that is resolved.
pub struct Wanted<'a> {
    /// Whether a use in the statement at a place matches the access.
    pub fits: &'a dyn Fn(&Mention, &Place) -> bool,
    /// Whether the access has a run-time index: then a use with a subscript is preferred.
    pub is_indexed: bool,
    /// Load or store; `None` if unknown.
    pub kind: Option<AccessKind>,
}

/// Finds the uses of variables that may be the access; empty if there are none.
pub fn resolve(places: &[Place], trees: &SyntaxTrees<'_>, wanted: &Wanted<'_>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut beside: Vec<Found> = Vec::new();
    let mut inner: Vec<Use> = Vec::new();
    let mut handed: Vec<(Handed, usize)> = Vec::new();
    for (level, place) in places.iter().enumerate() {
        let regions = place.tree(trees).regions(place.offset);
        let parts = parts_of_calls(place, trees, level.checked_sub(1).map(|inner| &places[inner]), &handed);
        let all = mentions(place, &regions, trees);
        let here = candidates(place, &all, parts.as_ref(), wanted);
        let (aliases, variables): (Vec<Here<'_>>, Vec<Here<'_>>) =
            here.into_iter().partition(|here| here.mention.declaration.kind == DeclarationKind::Alias);
        let indexed: Vec<Here<'_>> = aliases
            .iter()
            .filter(|alias| alias.mention.declaration.is_parameter && has_index(alias.mention))
            .cloned()
            .collect();
        let are_beside = !variables.iter().any(|variable| has_index(variable.mention));
        let goes_on = wanted.is_indexed && parts.is_none() && !indexed.is_empty() && level + 1 < places.len();
        let uses = |here: &Here<'_>| here.uses.iter().filter_map(|number| inner.get(*number)).cloned().collect();
        let own = variables.iter().map(|here| Found { level, mention: here.mention.clone(), inner: uses(here) });
        match (variables.is_empty(), goes_on && are_beside) {
            (true, _) => {}
            (false, true) => beside.extend(own),
            (false, false) => found.extend(own),
        }
        if !variables.is_empty() && !goes_on {
            break;
        }
        let aliases = if variables.is_empty() { aliases } else { indexed };
        if level == 0 {
            (handed, inner) = innermost((place, trees), &regions, &all, &aliases, wanted, variables.is_empty());
            continue;
        }
        let parameters = aliases.iter().filter(|alias| alias.mention.declaration.is_parameter);
        let named = parameters.flat_map(|alias| {
            let name = &alias.mention.declaration.name;
            alias.uses.iter().map(|number| (Handed::Parameter(name.clone()), *number)).collect::<Vec<_>>()
        });
        let mut next: Vec<(Handed, usize)> = named.collect();
        if next.is_empty() {
            next = (0..inner.len()).map(|number| (Handed::Object, number)).collect();
        }
        next.sort();
        next.dedup();
        handed = next;
    }
    if found.is_empty() { beside } else { found }
}

/// A mention in a statement, with the indices of the uses in inlined code that it stands for.
#[derive(Clone)]
struct Here<'m> {
    mention: &'m Mention,
    uses: Vec<usize>,
}

/// The mentions of a statement that may be the access, or may be passed to it.
fn candidates<'m>(
    place: &Place,
    all: &'m [Mention],
    called: Option<&CalledParts>,
    wanted: &Wanted<'_>,
) -> Vec<Here<'m>> {
    let Some(called) = called else {
        let fitting = all.iter().filter(|mention| (wanted.fits)(mention, place));
        return fitting.map(|mention| Here { mention, uses: Vec::new() }).collect();
    };
    // A function may read and write what it is passed, whatever the mention at the call looks like.
    let handed = all.iter().filter_map(|mention| {
        let of =
            called.parts.iter().filter(|part| holds(&part.range, &mention.range) || holds(&mention.range, &part.range));
        let of: Vec<&CallPart> = of.collect();
        let uses = of.iter().flat_map(|part| part.uses.iter().copied()).collect();
        (!of.is_empty()).then_some(Here { mention, uses })
    });
    let handed: Vec<Here<'m>> = handed.collect();
    // An overloaded `operator[]` is a read or write like a built-in subscript.
    if !called.is_brackets {
        return handed;
    }
    let same_way: Vec<Here<'m>> = handed.iter().filter(|here| (wanted.fits)(here.mention, place)).cloned().collect();
    if same_way.is_empty() { handed } else { same_way }
}

/// The values that the innermost statement gets from its caller: parameters and, in a method, members.
fn innermost(
    (place, trees): (&Place, &SyntaxTrees<'_>),
    regions: &[Node<'_>],
    all: &[Mention],
    aliases: &[Here<'_>],
    wanted: &Wanted<'_>,
    with_members: bool,
) -> (Vec<(Handed, usize)>, Vec<Use>) {
    let parameters = aliases.iter().filter(|alias| alias.mention.declaration.is_parameter);
    let parameters =
        parameters.map(|alias| (Handed::Parameter(alias.mention.declaration.name.clone()), Use::of(alias.mention)));
    let is_known = |name: &str| all.iter().any(|mention| mention.declaration.name == name);
    let members = regions.iter().filter(|_| with_members);
    let members = members.flat_map(|region| place.tree(trees).indexed_members(*region, &is_known));
    let is_same_way = |member: &MemberSyntax| match wanted.kind {
        Some(AccessKind::Load) => member.is_read,
        Some(AccessKind::Store) => member.is_written,
        None => true,
    };
    let members = members.filter(is_same_way).map(|member| (Handed::Object, Use::of_member(member)));
    let both: Vec<(Handed, Use)> = parameters.chain(members).collect();
    let handed = both.iter().enumerate().map(|(number, (handed, _))| (handed.clone(), number)).collect();
    (handed, both.into_iter().map(|(_, one)| one).collect())
}

fn has_index(mention: &Mention) -> bool {
    !(mention.indices.is_empty() && mention.outer.is_empty())
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Uses of variables in the statement at a place, completed by the front end. Variables that only the front end knows,
/// such as those that a macro declares, are included.
fn mentions(place: &Place, regions: &[Node<'_>], trees: &SyntaxTrees<'_>) -> Rc<[Mention]> {
    let (start, end) = (regions.first().map(Node::start_byte), regions.last().map(Node::end_byte));
    let key = (place.tree, start.unwrap_or(place.offset), end.unwrap_or(place.offset), place.function.clone());
    if let Some(known) = trees.mentions.borrow().get(&key) {
        return Rc::clone(known);
    }
    let found: Rc<[Mention]> = find_mentions(place, regions, trees).into();
    trees.mentions.borrow_mut().insert(key, Rc::clone(&found));
    found
}

fn find_mentions(place: &Place, regions: &[Node<'_>], trees: &SyntaxTrees<'_>) -> Vec<Mention> {
    let mentions = regions.iter().flat_map(|region| place.tree(trees).mentions(*region).to_vec());
    let mut mentions: Vec<Mention> = mentions.collect();
    for mention in &mut mentions {
        complete(&mut mention.declaration, place, trees);
    }
    auto_variables::settle(&mut mentions, place, trees);
    let hidden = place.function.as_deref().map(|function| trees.front_end.of(function)).unwrap_or_default();
    for variable in hidden {
        if mentions.iter().any(|mention| mention.declaration.name == variable.name) {
            continue;
        }
        if let Some(declaration) = hidden_declaration(place, trees, variable) {
            regions.iter().for_each(|region| mentions.extend(place.tree(trees).uses_of(*region, &declaration)));
        }
    }
    if mentions.is_empty() {
        mentions.extend(macro_kernel::mentions(place, trees, hidden));
    }
    mentions
}

/// A declaration, completed by the front end and the template instance.
pub fn described(place: &Place, mut declaration: Declaration, trees: &SyntaxTrees<'_>) -> Declaration {
    complete(&mut declaration, place, trees);
    declaration
}

fn complete(declaration: &mut Declaration, place: &Place, trees: &SyntaxTrees<'_>) {
    match front_end(place, trees, declaration) {
        Some(variable) => describe(declaration, variable),
        None => bind_type(declaration, place, trees),
    }
}

/// The front end's variable for a declaration, in the function instance of the place.
pub fn front_end<'v>(
    place: &Place,
    trees: &'v SyntaxTrees<'_>,
    declaration: &Declaration,
) -> Option<&'v FrontEndVariable> {
    if declaration.is_parameter {
        return None;
    }
    let span = place.tree(trees).span(declaration.range.0..declaration.range.1)?;
    let line = u32::try_from(span.start_line()).ok()?;
    trees.front_end.variable(place.function.as_deref(), &span.file.path, line, &declaration.name)
}

fn describe(declaration: &mut Declaration, variable: &FrontEndVariable) {
    // `auto` hides whether a structure is another name for something else, or refers to it.
    if declaration.kind == DeclarationKind::Alias && !variable.members.is_empty() {
        declaration.kind = DeclarationKind::Aggregate;
    }
    if declaration.kind == DeclarationKind::Alias {
        return;
    }
    declaration.bytes = variable.bytes.or(declaration.bytes);
    // The text does not show that a type name is an alias of a scalar type.
    if declaration.kind == DeclarationKind::Aggregate && types::is_scalar(&variable.type_text) {
        declaration.kind = DeclarationKind::Scalar;
    }
    // A mangled type name does not help the reader.
    if !variable.type_text.contains("_Z") {
        declaration.type_text = variable.type_text.clone();
    }
    declaration.members =
        variable.members.iter().map(|member| (member.path.clone(), member.type_text.clone(), member.bytes)).collect();
}

/// Binds a template parameter to its type in the instance of the place, if that is a scalar or pointer. Neither can be
/// accessed at a computed address.
fn bind_type(declaration: &mut Declaration, place: &Place, trees: &SyntaxTrees<'_>) {
    if declaration.kind != DeclarationKind::Aggregate {
        return;
    }
    let Some(function) = place.function.as_deref() else { return };
    let parameters =
        place.tree(trees).function_at(place.offset).map(|syntax| syntax.template_parameters).unwrap_or_default();
    if !parameters.contains(&declaration.type_text) {
        return;
    }
    let bound = bind(&declaration.type_text, &parameters, &template_arguments(&demangle(function)));
    if types::is_scalar(&bound) {
        declaration.kind = DeclarationKind::Scalar;
        declaration.bytes = types::size_of(&bound);
    } else if bound.ends_with('*') {
        declaration.kind = DeclarationKind::Alias;
    }
}

/// A variable whose declaration is not visible in the text.
pub fn hidden_declaration(place: &Place, trees: &SyntaxTrees<'_>, variable: &FrontEndVariable) -> Option<Declaration> {
    let line = place.tree(trees).line_range(variable.line as usize)?;
    let text = place.tree(trees).text().get(line.clone())?;
    let file = place.tree(trees).span(line.clone())?.file;
    let is_elsewhere = Path::new(&variable.file).file_name() != file.path.file_name();
    if is_elsewhere || place.tree(trees).is_declared(place.offset, &variable.name) {
        return None;
    }
    let word = occurrences(text, &variable.name).next();
    let blank = text.len() - text.trim_start().len();
    let range = match word {
        Some(at) => line.start + at..line.start + at + variable.name.len(),
        None => line.start + blank..line.start + text.trim_end().len(),
    };
    let mut declaration = Declaration::hidden(&variable.name, range);
    declaration.kind = match (variable.type_text.ends_with(']'), variable.type_text.ends_with('*')) {
        (true, _) => DeclarationKind::Array,
        (false, true) => DeclarationKind::Alias,
        (false, false) if types::is_scalar(&variable.type_text) => DeclarationKind::Scalar,
        (false, false) => DeclarationKind::Aggregate,
    };
    describe(&mut declaration, variable);
    Some(declaration)
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Level, Scene, at};
    use super::*;
    use cuda_syntax::Example;

    #[test]
    fn parameters_of_templates_stand_for_types() {
        let text = "template <class T, int N> __device__ float f(T v) { T x = v; return x[N]; }\n";
        let example = Example::new(text);
        let trees = example.trees();
        let id = trees.id(Example::NAME).unwrap();
        let tree = trees.tree(id);
        let offset = text.find("x =").unwrap();
        let bound = |function: &str| {
            let place = Place { tree: id, line: 1, offset, function: Some(function.into()), callee: None };
            let mut declaration = tree.declaration_of(&(offset..offset + 1)).unwrap();
            bind_type(&mut declaration, &place, &trees);
            (declaration.kind, declaration.bytes)
        };
        assert_eq!(bound("_Z1fIfLi4EEfT_"), (DeclarationKind::Scalar, Some(4)));
        assert_eq!(bound("_Z1fIPfLi4EEfT_"), (DeclarationKind::Alias, None));
        assert_eq!(bound("_Z1fI4RingLi4EEfT_"), (DeclarationKind::Aggregate, None));
    }

    /// The variables that a computed load may use, with the level that names them.
    fn resolved(text: &str, levels: &[Level<'_>]) -> Vec<(usize, String)> {
        Scene::new(text).ask(|it| {
            let access = it.computed_load(levels);
            let found = super::super::votes::resolve_access(&access, it.trees);
            found.into_iter().map(|found| (found.level, found.mention.declaration.name)).collect()
        })
    }

    /// A level in an inlined function.
    fn inside<'a>(piece: &'a str, function: &'a str) -> Level<'a> {
        Level { function: Some(function), ..at(piece) }
    }

    /// A statement of the kernel that a function was inlined into.
    fn calling<'a>(piece: &'a str, callee: &'a str) -> Level<'a> {
        Level { callee: Some(callee), ..at(piece) }
    }

    #[test]
    fn a_parameter_stands_for_its_argument() {
        let text = "__device__ float pick(const float *slot, int i) { return slot[i]; }\n\
                    __global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = pick(b, n) + a[0];\n}\n";
        let function = "_Z4pickPKfi";
        let levels = [inside("return slot", function), calling("out[0]", function)];
        assert_eq!(resolved(text, &levels), [(1, "b".to_string())]);
        // The parameters of another function are unknown, so all names in the call are candidates.
        let other = [inside("return slot", "_Z5otherPKfi"), calling("out[0]", function)];
        let names: Vec<String> = resolved(text, &other).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["b", "n"]);
    }

    #[test]
    fn parameters_are_followed_through_two_levels() {
        let text = "__device__ float pick(const float *slot, int i) { return slot[i]; }\n\
                    __device__ float twice(const float *row, int i) { return 2 * pick(row, i); }\n\
                    __global__ void k(float *out, int n) {\n  float a[8], b[8];\n  out[0] = twice(a, n) + b[0];\n}\n";
        let (pick, twice) = ("_Z4pickPKfi", "_Z5twicePKfi");
        let middle = Level { function: Some(twice), callee: Some(pick), ..at("return 2") };
        let levels = [inside("return slot", pick), middle, calling("out[0]", twice)];
        assert_eq!(resolved(text, &levels), [(2, "a".to_string())]);
    }

    #[test]
    fn a_member_stands_for_the_object_of_its_method() {
        let text = "struct Ring { float slot[8]; __device__ float at(int i) { return slot[i]; } };\n\
                    __global__ void k(float *out, int n) {\n  Ring one, other;\n  out[0] = other.at(n);\n}\n";
        let function = "_ZN4Ring2atEi";
        let levels = [inside("return slot", function), calling("out[0]", function)];
        assert_eq!(resolved(text, &levels), [(1, "other".to_string())]);
    }

    #[test]
    fn an_alias_stands_for_what_it_was_made_from() {
        let text = "__global__ void k(float *out, int n) {\n  float a[8], b[8];\n  float *p = a;\n  out[0] = p[n] + b[0];\n}\n";
        assert_eq!(resolved(text, &[at("out[0]")]).iter().map(|(_, name)| name.as_str()).next(), Some("a"));
    }

    #[test]
    fn the_innermost_level_that_names_a_variable_is_taken() {
        let text = "__device__ float local(int i) { float own[8]; return own[i]; }\n\
                    __global__ void k(float *out, int n) {\n  float a[8];\n  out[0] = local(n) + a[n];\n}\n";
        let function = "_Z5locali";
        let levels = [inside("return own", function), calling("out[0]", function)];
        assert_eq!(resolved(text, &levels), [(0, "own".to_string())]);
    }

    #[test]
    fn variables_of_macros_are_those_of_the_front_end() {
        let text = "__global__ void k(float *out, int n) {\n  TABLE(hidden, 8);\n  out[0] = hidden[n];\n}\n";
        let scene = Scene::new(text).with_variable(("hidden", "float[8]", 32), "  TABLE", &[]);
        scene.ask(|it| {
            let levels = [Level { function: Some("_Z1k"), ..at("out[0]") }];
            let found = super::super::votes::resolve_access(&it.computed_load(&levels), it.trees);
            let names: Vec<&str> = found.iter().map(|found| found.mention.declaration.name.as_str()).collect();
            assert_eq!(names, ["hidden"]);
        });
    }
}
