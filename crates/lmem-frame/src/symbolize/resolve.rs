//! Finds the variables that an access may use. Parameters and methods of inlined functions are mapped to the call site,
//! out to the level whose statement names a local variable.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use cuda_syntax::ast::Node;

use cuda_syntax::identifiers::occurrences;
use cuda_syntax::tree::{Declaration, DeclarationKind, MemberSyntax, Mention, Volatility};
use cuda_syntax::{SyntaxTree, SyntaxTrees, types};
use lmem_base::chain::Shared;
use lmem_base::mangling::{bind, demangle, template_arguments};
use lmem_unit::FrontEndVariable;
use nv_code::AccessKind;

use super::argument_mapping::{CallPart, CalledParts, Handed, parts_of_calls};
use super::{auto_variables, macro_kernel, macro_uses};
use crate::place::{Place, Places};

/// A use of a variable that may be the access.
#[derive(Clone)]
pub struct Found {
    /// The inlining level of the statement with the use; 0 is the innermost.
    pub level: usize,
    /// The statement with the use.
    pub place: Place,
    /// The levels from that one on outwards.
    pub places: Places,
    pub mention: Mention,
    /// The uses at the innermost level that stand for the variable, as a parameter or member: `slot[head]`.
    pub inner: Vec<Use>,
}

impl Found {
    /// Whether the function that owns the frame has the use, not an inlined one.
    pub fn is_outermost(&self) -> bool {
        self.places.len() == 1
    }
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

/// Finds the uses of variables that may be the access; empty if there are none. `known` are the answers for the same unit so far.
pub fn resolve(places: &Places, trees: &SyntaxTrees<'_>, wanted: &Wanted<'_>, known: &Known) -> Vec<Found> {
    let Some(place) = places.first() else { return Vec::new() };
    let regions = place.tree(trees).regions(place.offset);
    let all = mentions(place, &regions, trees);
    let parts = parts_of_calls(place, trees, None, &[]);
    let level = Level::new(places, &all, parts.as_ref(), wanted, trees);
    // What the innermost statement uses stands for nothing further inside.
    let mut answer = level.own(places, |_| Vec::new());
    let mut inner = Vec::new();
    if let Some(followed) = &level.followed {
        let handed;
        (handed, inner) = innermost((place, trees), &regions, &all, followed, wanted, level.variables.is_empty());
        let inside = Shared(places.clone());
        let question = Question { inside, handed, uses: inner.len(), is_indexed: wanted.is_indexed, kind: wanted.kind };
        answer = answer.and(&outside(question, trees, wanted, known));
    }
    let hits = if answer.found.is_empty() { answer.beside } else { answer.found };
    let found = hits.into_iter().filter_map(|hit| {
        Some(Found {
            level: places.len() - hit.places.len(),
            place: hit.places.first()?.clone(),
            places: hit.places,
            mention: hit.mention,
            inner: hit.uses.iter().filter_map(|number| inner.get(*number)).cloned().collect(),
        })
    });
    found.collect()
}

/// What the statements outside of an inlined one have, by what is asked. Thousands of accesses in code that was inlined at one call ask the
/// same there.
#[derive(Default)]
pub struct Known(RefCell<HashMap<Question, Rc<Outside>>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    /// The inlined statement, and where it was inlined.
    inside: Shared<Place>,
    /// What the inlined code uses, with the numbers of its uses.
    handed: Vec<(Handed, usize)>,
    /// Number of uses.
    uses: usize,
    is_indexed: bool,
    kind: Option<AccessKind>,
}

/// Uses of variables in statements outside of an inlined one.
#[derive(Default)]
struct Outside {
    found: Vec<Hit>,
    /// Those that count if there are no others.
    beside: Vec<Hit>,
}

/// A use of a variable, with the numbers of the uses in inlined code that it stands for.
#[derive(Clone)]
struct Hit {
    places: Places,
    mention: Mention,
    uses: Vec<usize>,
}

impl Outside {
    fn and(mut self, further: &Self) -> Self {
        self.found.extend(further.found.iter().cloned());
        self.beside.extend(further.beside.iter().cloned());
        self
    }

    fn is_empty(&self) -> bool {
        self.found.is_empty() && self.beside.is_empty()
    }
}

fn outside(question: Question, trees: &SyntaxTrees<'_>, wanted: &Wanted<'_>, known: &Known) -> Rc<Outside> {
    let mut answer = Rc::default();
    let mut asked = Vec::new();
    let mut next = Some(question);
    while let Some(question) = next {
        if let Some(known) = known.0.borrow().get(&question) {
            answer = Rc::clone(known);
            break;
        }
        let (own, further) = one_level(&question, trees, wanted);
        next = further;
        asked.push((question, own));
    }
    for (question, own) in asked.into_iter().rev() {
        if !own.is_empty() {
            answer = Rc::new(own.and(&answer));
        }
        known.0.borrow_mut().insert(question, Rc::clone(&answer));
    }
    answer
}

/// What the statement at the next level has, and what to ask of those outside of it.
fn one_level(question: &Question, trees: &SyntaxTrees<'_>, wanted: &Wanted<'_>) -> (Outside, Option<Question>) {
    let Some(places) = question.inside.0.rest() else { return Default::default() };
    let Some(place) = places.first() else { return Default::default() };
    let regions = place.tree(trees).regions(place.offset);
    let parts = parts_of_calls(place, trees, question.inside.0.first(), &question.handed);
    let all = mentions(place, &regions, trees);
    let level = Level::new(places, &all, parts.as_ref(), wanted, trees);
    let own = level.own(places, |here| here.uses.clone());
    let handed = level.followed.map(|followed| {
        let parameters = followed.iter().filter(|alias| alias.mention.declaration.is_parameter);
        let named = parameters.flat_map(|alias| {
            let name = &alias.mention.declaration.name;
            alias.uses.iter().map(|number| (Handed::Parameter(name.clone()), *number)).collect::<Vec<_>>()
        });
        let mut handed: Vec<(Handed, usize)> = named.collect();
        if handed.is_empty() {
            handed = (0..question.uses).map(|number| (Handed::Object, number)).collect();
        }
        handed.sort();
        handed.dedup();
        handed
    });
    let further = handed.map(|handed| Question { inside: Shared(places.clone()), handed, ..question.clone() });
    (own, further)
}

/// The candidates of one statement.
struct Level<'m> {
    /// Those that are variables.
    variables: Vec<Here<'m>>,
    /// Whether the variables count only if there are no others.
    are_beside: bool,
    /// The others, which stand for something outside; `None` if the variables decide.
    followed: Option<Vec<Here<'m>>>,
}

impl<'m> Level<'m> {
    /// Those of the first of some places.
    fn new(
        places: &Places,
        all: &'m [Mention],
        parts: Option<&CalledParts>,
        wanted: &Wanted<'_>,
        trees: &SyntaxTrees<'_>,
    ) -> Self {
        let here = places.first().map(|place| candidates((place, trees), all, parts, wanted)).unwrap_or_default();
        let (aliases, variables): (Vec<Here<'_>>, Vec<Here<'_>>) =
            here.into_iter().partition(|here| here.mention.declaration.kind == DeclarationKind::Alias);
        let parameters = aliases.iter().filter(|alias| alias.mention.declaration.is_parameter);
        let (indexed, whole): (Vec<Here<'_>>, Vec<Here<'_>>) =
            parameters.cloned().partition(|alias| has_index(alias.mention));
        let is_indexed = variables.iter().any(|variable| has_index(variable.mention));
        // An element that the function got by reference is copied: `Vec r(l);`. Its own variable has no run-time address.
        let handed = if indexed.is_empty() && !is_indexed { whole } else { indexed };
        let goes_on = wanted.is_indexed && parts.is_none() && !handed.is_empty() && places.len() > 1;
        let are_beside = goes_on && !is_indexed;
        let followed = match (variables.is_empty(), goes_on) {
            (true, _) => Some(aliases),
            (false, true) => Some(handed),
            (false, false) => None,
        };
        Self { variables, are_beside, followed }
    }

    fn own(&self, places: &Places, uses: impl Fn(&Here<'m>) -> Vec<usize>) -> Outside {
        let hit = |here: &Here<'m>| Hit { places: places.clone(), mention: here.mention.clone(), uses: uses(here) };
        let hits = self.variables.iter().map(hit).collect();
        match self.are_beside {
            true => Outside { found: Vec::new(), beside: hits },
            false => Outside { found: hits, beside: Vec::new() },
        }
    }
}

/// A mention in a statement, with the indices of the uses in inlined code that it stands for.
#[derive(Clone)]
struct Here<'m> {
    mention: &'m Mention,
    uses: Vec<usize>,
}

/// The mentions of a statement that may be the access, or may be passed to it.
fn candidates<'m>(
    (place, trees): (&Place, &SyntaxTrees<'_>),
    all: &'m [Mention],
    called: Option<&CalledParts>,
    wanted: &Wanted<'_>,
) -> Vec<Here<'m>> {
    let Some(called) = called else {
        let fitting = all.iter().filter(|mention| (wanted.fits)(mention, place));
        let mut fitting: Vec<&Mention> = fitting.collect();
        let has_number = |mention: &Mention| has_only_numbers(mention, place.tree(trees));
        if wanted.is_indexed && fitting.iter().any(|mention| is_open(mention, place.tree(trees))) {
            fitting.retain(|mention| !has_number(mention));
        }
        return fitting.into_iter().map(|mention| Here { mention, uses: Vec::new() }).collect();
    };
    // A function may read and write what it is passed, whatever the mention at the call looks like.
    let handed = all.iter().filter_map(|mention| {
        let of = called.parts.iter().filter(|part| part.holds(mention));
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
    let named = aliases.iter().filter(|alias| with_members && !alias.mention.declaration.is_parameter);
    let named = named.flat_map(|alias| aliased_members(alias.mention, place.tree(trees), &is_known));
    let both: Vec<(Handed, Use)> = parameters.chain(members).chain(named.map(|one| (Handed::Object, one))).collect();
    let handed = both.iter().enumerate().map(|(number, (handed, _))| (handed.clone(), number)).collect();
    (handed, both.into_iter().map(|(_, one)| one).collect())
}

/// Uses of members through a local name of them: `one.key` for `Slot &one = slots[at];`.
fn aliased_members(mention: &Mention, tree: &SyntaxTree, is_known: &dyn Fn(&str) -> bool) -> Vec<Use> {
    let initializer = mention.declaration.initializer.and_then(|(start, end)| {
        let node = tree.root()?.named_descendant_for_byte_range(start, end)?;
        Some(tree.indexed_members(node, is_known))
    });
    let through = |member: MemberSyntax| Use { outer: member.indices, ..Use::of(mention) };
    initializer.into_iter().flatten().map(through).collect()
}

/// Whether a mention has a subscript that is no number, in the text or in what a macro stands for.
fn is_open(mention: &Mention, tree: &SyntaxTree) -> bool {
    let mut all = mention.indices.iter().chain(&mention.outer);
    mention.macro_index == Some(true) || all.any(|index| !is_number(tree, index))
}

/// Whether a mention is an element of an array at a number, `v[4]`: no access with a run-time index where another variable of the statement
/// has one.
fn has_only_numbers(mention: &Mention, tree: &SyntaxTree) -> bool {
    mention.declaration.kind == DeclarationKind::Array
        && (!mention.indices.is_empty() || mention.macro_index.is_some())
        && !is_open(mention, tree)
        && !mention.is_by_other_name(tree.text())
}

fn is_number(tree: &SyntaxTree, index: &Range<usize>) -> bool {
    tree.text().get(index.clone()).is_some_and(|text| text.trim().bytes().all(|byte| byte.is_ascii_digit()))
}

fn has_index(mention: &Mention) -> bool {
    !(mention.indices.is_empty() && mention.outer.is_empty())
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
    macro_uses::complete(&mut mentions, place, regions, trees, hidden);
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

/// What the front end knows of a variable.
pub fn describe(declaration: &mut Declaration, variable: &FrontEndVariable) {
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
        declaration.type_text = without_versions(&variable.type_text);
    }
    // A template may be given a type that is `volatile`, which the text does not show: `T x`.
    if variable.is_volatile && declaration.kind != DeclarationKind::Alias {
        declaration.volatility.get_or_insert(Volatility::Value);
    }
    declaration.members =
        variable.members.iter().map(|member| (member.path.clone(), member.type_text.clone(), member.bytes)).collect();
}

/// A type without the inline namespaces of library versions, which no source names: `cuda::std::array<int, 4>` for
/// `cuda::std::__4::array<int, 4>`.
fn without_versions(type_text: &str) -> String {
    let mut shown = String::with_capacity(type_text.len());
    for part in type_text.split_inclusive("::") {
        let version = part.strip_suffix("::").and_then(|part| part.strip_prefix("__"));
        let is_version = version.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()));
        if !(is_version && shown.ends_with("::")) {
            shown.push_str(part);
        }
    }
    shown
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
    use crate::access::Access;
    use cuda_syntax::Example;
    use lmem_base::chain::Chain;

    #[test]
    fn versions_of_libraries_are_not_shown() {
        assert_eq!(
            without_versions("cuda::std::__4::array<cuda::std::__4::pair<int, int>, 8>[2]"),
            "cuda::std::array<cuda::std::pair<int, int>, 8>[2]"
        );
        assert_eq!(without_versions("own::__4x::array"), "own::__4x::array");
        assert_eq!(without_versions("__4::array"), "__4::array");
    }

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
            let found = super::super::votes::resolve_access(&access, it.trees, &Known::default());
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
    fn an_element_of_a_pack_is_any_of_the_arguments_that_are_left() {
        let text = "struct Ring { float slot[8]; __device__ void put(int i) { slot[i] = 1; } };\n\
                    template <class... A> __device__ void fill(int i, A &...all) { (all.put(i), ...); }\n\
                    __global__ void k(float *out, int n) {\n  Ring a, b;\n  fill(n, a, b);\n}\n";
        let (put, fill) = ("_ZN4Ring3putEi", "_Z4fillIJ4RingS0_EEviDpRT_");
        let middle = Level { function: Some(fill), callee: Some(put), ..at("(all.put") };
        Scene::new(text).ask(|it| {
            let store = it.computed_load(&[inside("slot[i] =", put), middle, calling("fill(n", fill)]);
            let store = Access { kind: AccessKind::Store, ..store };
            let found = super::super::votes::resolve_access(&store, it.trees, &Known::default());
            let names: Vec<&str> = found.iter().map(|found| found.mention.declaration.name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
        });
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
    fn what_is_outside_of_a_call_is_found_once() {
        let text = "__device__ float pick(const float *slot, int i) {\n  float x = slot[i];\n  return slot[i + 1] + x;\n}\n\
                    __device__ float twice(const float *row, int i) { return 2 * pick(row, i); }\n\
                    __global__ void k(float *out, int n) {\n  float a[8];\n  out[0] = twice(a, n);\n}\n";
        let (pick, twice) = ("_Z4pickPKfi", "_Z5twicePKfi");
        let middle = Level { function: Some(twice), callee: Some(pick), ..at("return 2") };
        Scene::new(text).ask(|it| {
            let outer = it.places(&[middle, calling("out[0]", twice)]);
            let known = Known::default();
            let found = |piece| {
                let innermost = it.places(&[inside(piece, pick)]).first().cloned().unwrap();
                let access = Access { places: Chain::new(innermost, outer.clone()), ..it.computed_load(&[]) };
                let found = super::super::votes::resolve_access(&access, it.trees, &known);
                let found: Vec<(usize, &str)> =
                    found.iter().map(|one| (one.level, one.mention.declaration.name.as_str())).collect();
                assert_eq!(found, [(2, "a")], "{piece}");
                known.0.borrow().len()
            };
            // Two levels; then the one that is inside of what is known.
            assert_eq!((found("float x"), found("return slot")), (2, 3));
        });
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
    fn a_local_name_of_a_member_stands_for_it() {
        let text = "struct Ring { float slot[8]; __device__ float at(int i) { float &one = slot[i & 7]; return one; } };\n\
                    __global__ void k(float *out, int n) {\n  Ring one, other;\n  out[0] = other.at(n);\n}\n";
        let method = "_ZN4Ring2atEi";
        Scene::new(text).ask(|it| {
            let access = it.computed_load(&[inside("return one", method), calling("out[0]", method)]);
            let found = super::super::votes::resolve_access(&access, it.trees, &Known::default());
            let [only] = found.as_slice() else { panic!("{} uses", found.len()) };
            let uses: Vec<Vec<&str>> =
                only.inner.iter().map(|one| one.all().map(|index| &text[index.clone()]).collect()).collect();
            assert_eq!((only.mention.declaration.name.as_str(), uses), ("other", vec![vec!["i & 7"]]));
        });
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
    fn an_element_at_a_number_is_not_the_one_at_a_computed_address() {
        let of = |statement: &str| {
            let text = format!(
                "#define MIX(x) do {{ x += m[at & 7]; }} while (0)\n#define AT(x, i) x[i]\n\
                 __global__ void k(float *out, int at) {{\n  float v[8], m[8];\n  {statement}\n}}\n"
            );
            resolved(&text, &[at(statement)]).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(of("MIX(v[3]);"), ["m"]);
        assert_eq!(of("out[0] = v[3] + m[at];"), ["m"]);
        assert_eq!(of("out[0] = v[at] + AT(m, 3);"), ["v"]);
        assert_eq!(of("out[0] = v[at] + AT(m, at);"), ["v", "m"]);
        // Nothing else is there.
        assert_eq!(of("out[0] = v[3];"), ["v"]);
    }

    #[test]
    fn variables_of_macros_are_those_of_the_front_end() {
        let text = "__global__ void k(float *out, int n) {\n  TABLE(hidden, 8);\n  out[0] = hidden[n];\n}\n";
        let scene = Scene::new(text).with_variable(("hidden", "float[8]", 32), "  TABLE", &[]);
        scene.ask(|it| {
            let levels = [Level { function: Some("_Z1k"), ..at("out[0]") }];
            let found = super::super::votes::resolve_access(&it.computed_load(&levels), it.trees, &Known::default());
            let names: Vec<&str> = found.iter().map(|found| found.mention.declaration.name.as_str()).collect();
            assert_eq!(names, ["hidden"]);
        });
    }
}
