//! Tables of constants whose elements index an array: `state[perm[i]]`. Each index is a constant once the compiler knows the
//! table's values and the loops that go through it are unrolled.

mod table;

use std::collections::BTreeSet;
use std::rc::Rc;

use cuda_syntax::SyntaxTree;
use cuda_syntax::ast::{Assignment, Call, Field, Kind, Node};
use cuda_syntax::identifiers::{identifiers, occurrences};
use cuda_syntax::tree::{Declaration, DeclarationKind, Place, access_path, base_name, enclosing_function, resolve};
use lmem_base::diagnostic::{Applicability, Edit, Suggestion};
use lmem_base::gpu::MAX_REGISTERS;
use lmem_base::mangling::demangle;
use lmem_frame::{Access, Address, StackObject};

use self::table::{Reach, Table, tables};
use super::Rewrite;
use super::facts::sites::functions_named;
use super::unroll::Unrolled;
use super::unroll::for_loop::{ForLoop, for_loops};
use crate::framework::LintContext;

/// Limit on the tables of one edit: a reader would rarely accept more.
const MOST_TABLES: usize = 4;

/// Limit on variables between a table's index and the counter of a loop, as `k` of `const int k = 2 * i;`.
const MOST_STEPS: usize = 3;

/// Size of a register; an array larger than all registers stays in local memory.
const REGISTER_BYTES: u64 = 4;

/// Declares the tables `const` whose elements index an object, and unrolls the loops that go through them.
pub fn suggestion(cx: &LintContext<'_>, object: &StackObject) -> Option<Suggestion> {
    if object.bytes > u64::from(MAX_REGISTERS) * REGISTER_BYTES || !object.escapes().is_empty() {
        return None;
    }
    let is_loaded = |access: &&Access| matches!(&access.address, Address::Computed(sources) if sources.loaded);
    let mut found: Option<Found<'_>> = None;
    for access in object.accesses.iter().filter(is_loaded) {
        let places: Vec<&Place> = access.places.iter().collect();
        for number in 0..places.len() {
            let tree = object.tree(places[number]);
            let found = found.get_or_insert_with(|| Found::new(tree));
            if Rc::ptr_eq(found.tree, tree) {
                found.enter(object, &places[number..]);
            }
        }
    }
    found?.suggestion(cx, object)
}

/// The tables that index an object, and the loops over them.
struct Found<'a> {
    tree: &'a Rc<SyntaxTree>,
    all: Vec<Table<'a>>,
    tables: BTreeSet<usize>,
    /// Each with the number of its table.
    loops: Vec<(usize, ForLoop)>,
    /// The functions that read them.
    functions: Vec<Node<'a>>,
}

/// A use of a table: where, and the names in its index.
struct Use {
    offset: usize,
    words: BTreeSet<String>,
}

impl<'a> Found<'a> {
    fn new(tree: &'a Rc<SyntaxTree>) -> Self {
        Self { tree, all: tables(tree), tables: BTreeSet::new(), loops: Vec::new(), functions: Vec::new() }
    }

    /// Looks for tables in the statement of an access, and in what its variables get. The other places are those that it is
    /// inlined at.
    fn enter(&mut self, object: &StackObject<'a>, places: &[&Place]) {
        let Some(place) = places.first() else { return };
        let tree = self.tree;
        let Some(function) = tree.node_at(place.offset).and_then(enclosing_function) else { return };
        let code = sources(tree, function, place.offset);
        for (number, table) in self.all.iter().enumerate() {
            if !code.iter().any(|text| occurrences(text, table.name()).next().is_some()) {
                continue;
            }
            let uses = uses(tree, function, table);
            let walked: Option<Vec<Vec<ForLoop>>> =
                uses.iter().map(|used| loops_over(object, tree, function, used, &places[1..])).collect();
            let Some(walked) = walked.filter(|_| !uses.is_empty()) else { continue };
            self.tables.insert(number);
            if !self.functions.contains(&function) {
                self.functions.push(function);
            }
            for found in walked.into_iter().flatten() {
                if !self.loops.iter().any(|(table, known)| *table == number && known.is_same(&found)) {
                    self.loops.push((number, found));
                }
            }
        }
    }

    /// Tables that the same loops go through, though they index nothing: once the loops are unrolled, their values are
    /// constants too.
    fn beside(&self, object: &StackObject<'a>, loops: &[ForLoop]) -> Vec<usize> {
        let tree = self.tree;
        let is_walked = |function: Node<'a>, table: &Table<'a>| {
            let is_of_loops = |found: ForLoop| loops.iter().any(|known| known.is_same(&found));
            let mut uses = uses(tree, function, table).into_iter().peekable();
            uses.peek().is_some()
                && uses.all(|used| {
                    let found = loops_over(object, tree, function, &used, &[]).unwrap_or_default();
                    !found.is_empty() && found.into_iter().all(is_of_loops)
                })
        };
        let others = self.all.iter().enumerate().filter(|(number, table)| {
            let is_new = !self.tables.contains(number) && !table.is_constant;
            is_new && self.functions.iter().any(|function| is_walked(*function, table))
        });
        others.map(|(number, _)| number).collect()
    }

    fn suggestion(self, cx: &LintContext<'_>, object: &StackObject<'a>) -> Option<Suggestion> {
        let mut constant = self.constant(cx)?;
        let loops = self.loops_over(&constant.kept);
        for number in self.beside(object, &loops) {
            constant.add(cx, &self.all[number]);
        }
        let names: Vec<&str> = match constant.declared.is_empty() {
            true => constant.kept.iter().map(|number| self.all[*number].name()).collect(),
            false => constant.declared.iter().map(|(name, _)| *name).collect(),
        };
        let Constant { declared, reach, .. } = constant;
        let title = title(&names, !declared.is_empty(), reach, loops.len());
        let is_within_kernel = declared.is_empty() && loops.iter().all(ForLoop::is_within_kernel);
        let unrolled = loops.iter().filter_map(ForLoop::unroll);
        let edits: Vec<Edit> = declared.into_iter().map(|(_, edit)| edit).chain(unrolled).collect();
        let applicability = match reach {
            Reach::Own => Applicability::MachineApplicable,
            Reach::Including | Reach::All => Applicability::MaybeIncorrect,
        };
        let rounds = loops.iter().filter_map(|found| found.rounds).max();
        let is_edited = !edits.is_empty();
        let rewrite = Rewrite::new(applicability, edits).rounds(rounds).within_kernel(is_within_kernel);
        is_edited.then(|| with_other_loops(object, rewrite))?.map(|rewrite| rewrite.suggestion(title))
    }

    /// The tables that are constant, or may be declared so. One that is not leaves its indices in memory, which the others may
    /// do without.
    fn constant(&self, cx: &LintContext<'_>) -> Option<Constant<'a>> {
        let mut constant = Constant { declared: Vec::new(), reach: Reach::Own, kept: BTreeSet::new() };
        for number in &self.tables {
            let table = &self.all[*number];
            if table.is_constant || constant.add(cx, table) {
                constant.kept.insert(*number);
            }
        }
        (1..=MOST_TABLES).contains(&constant.kept.len()).then_some(constant)
    }

    /// The loops over some of the tables.
    fn loops_over(&self, tables: &BTreeSet<usize>) -> Vec<ForLoop> {
        let mut loops: Vec<ForLoop> = Vec::new();
        for (_, found) in self.loops.iter().filter(|(table, _)| tables.contains(table)) {
            if !loops.iter().any(|known| known.is_same(found)) {
                loops.push(found.clone());
            }
        }
        loops
    }
}

/// Tables that are declared `const`, by name.
struct Constant<'a> {
    declared: Vec<(&'a str, Edit)>,
    /// Which files may name one of them.
    reach: Reach,
    /// The numbers of the tables that are constant then.
    kept: BTreeSet<usize>,
}

impl<'a> Constant<'a> {
    /// Declares a table `const`, if that changes nothing.
    fn add(&mut self, cx: &LintContext<'_>, table: &Table<'a>) -> bool {
        let Some(edit) = table.constant(cx.unit).filter(|_| self.declared.len() < MOST_TABLES) else { return false };
        self.declared.push((table.name(), edit));
        self.reach = self.reach.max(table.reach);
        true
    }
}

/// The rewrite with the other loops over the array, which keep it in memory, too.
fn with_other_loops(object: &StackObject, rewrite: Rewrite) -> Option<Rewrite> {
    let is_walked = |access: &Access| matches!(access.address, Address::Induction(_));
    let others = object.accesses.iter().any(is_walked).then(|| Unrolled::of_accesses(object, is_walked)).flatten();
    match others {
        Some(others) => rewrite.and(others.rewrite),
        None => Some(rewrite),
    }
}

fn title(names: &[&str], is_declared: bool, reach: Reach, loops: usize) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let list = match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    };
    let them = if names.len() > 1 { "them" } else { "it" };
    let over = if loops > 1 { "the loops over" } else { "the loop over" };
    let reserve = match reach {
        Reach::Own => format!("nothing writes {them}"),
        Reach::Including => format!("nothing in this file writes {them}"),
        Reach::All => format!("if no other file writes {them}"),
    };
    match (is_declared, loops) {
        (false, _) => format!("unroll {over} {list} (constant trip count)"),
        (true, 0) => format!("declare {list} as `const` ({reserve})"),
        (true, _) => format!("declare {list} as `const` ({reserve}) and unroll {over} {them}"),
    }
}

/// The texts that an index in a statement may be made of: the statement with the code of its macros, and what its variables
/// are initialized with or assigned.
fn sources(tree: &SyntaxTree, function: Node<'_>, offset: usize) -> Vec<String> {
    let all = tree.declarations(function);
    let mut texts: Vec<String> = Vec::new();
    for region in tree.regions(offset) {
        let range = region.byte_range();
        let expanded = tree.compiled().differences().filter(|it| range.start <= it.start && it.end <= range.end);
        texts.extend(expanded.map(|it| it.compiled.clone()));
        texts.push(tree.slice(region).to_string());
    }
    let words: BTreeSet<String> = texts.iter().flat_map(|text| identifiers(text)).map(str::to_string).collect();
    for own in words.iter().filter_map(|word| resolve(&all, word, offset)).filter(|own| is_number(own)) {
        let initializer = own.initializer.and_then(|(start, end)| tree.text().get(start..end));
        texts.extend(initializer.map(str::to_string));
        let assigned = tree.names_of(function, &all, own).into_iter().filter_map(|name| {
            let assignment = access_path(name).parent().and_then(Assignment::of)?;
            assignment.right().filter(|_| assignment.left() == Some(name))
        });
        texts.extend(assigned.map(|value| tree.slice(value).to_string()));
    }
    let called: BTreeSet<&str> = texts.iter().flat_map(|text| identifiers(text)).collect();
    let bodies: Vec<String> =
        called.into_iter().filter_map(|name| body_of(tree, name)).map(|body| tree.slice(body).to_string()).collect();
    texts.into_iter().chain(bodies).collect()
}

/// The body of the only function with a name.
fn body_of<'t>(tree: &'t SyntaxTree, name: &str) -> Option<Node<'t>> {
    match functions_named(tree, name).as_slice() {
        [only] => only.field(Field::Body),
        _ => None,
    }
}

fn is_number(own: &Declaration) -> bool {
    own.kind != DeclarationKind::Array && !own.is_parameter
}

/// All uses of a table in a function, those in the code of its macros included.
fn uses<'t>(tree: &'t SyntaxTree, function: Node<'t>, table: &Table<'t>) -> Vec<Use> {
    let words = |text: &str| identifiers(text).map(str::to_string).collect::<BTreeSet<String>>();
    let mut found: Vec<Use> = Vec::new();
    for mention in table.mentions(function) {
        let offset = mention.start_byte();
        let whole = cuda_syntax::tree::element(mention, table.dimensions).unwrap_or(mention);
        found.push(Use {
            offset,
            words: words(&tree.text()[mention.end_byte()..whole.end_byte().max(mention.end_byte())]),
        });
    }
    // A function may read the table for its caller.
    let calls = function.descendants().filter_map(Call::of).filter(|call| {
        let name = call.function().filter(|called| called.kind() == Kind::Identifier).map(|called| tree.slice(called));
        let body = name
            .and_then(|name| body_of(tree, name))
            .filter(|body| !function.byte_range().contains(&body.start_byte()));
        // A call whose value is dropped gives no index.
        let is_value = call.node().parent().is_some_and(|around| around.kind() != Kind::ExpressionStatement);
        is_value && body.is_some_and(|body| table.mentions(body).next().is_some())
    });
    found.extend(calls.map(|call| Use {
        offset: call.node().start_byte(),
        words: call.arguments().flat_map(|argument| words(tree.slice(argument))).collect(),
    }));
    let range = function.byte_range();
    for hidden in tree.compiled().differences().filter(|it| range.start <= it.start && it.end <= range.end) {
        let own = tree.text().get(hidden.start..hidden.end).unwrap_or("");
        let is_new = occurrences(own, table.name()).next().is_none();
        if is_new && occurrences(&hidden.compiled, table.name()).next().is_some() {
            found.push(Use { offset: hidden.start, words: words(own) });
        }
    }
    found
}

/// The loops of constant length around a use whose induction variables its index has, directly, through variables that they
/// initialize, or as arguments of the calls that the function is inlined at. `None` where the length of one is not known.
fn loops_over(
    object: &StackObject,
    tree: &Rc<SyntaxTree>,
    function: Node<'_>,
    used: &Use,
    outer: &[&Place],
) -> Option<Vec<ForLoop>> {
    let all = tree.declarations(function);
    let mut words = used.words.clone();
    for _ in 0..MOST_STEPS {
        let own = words.iter().filter_map(|word| resolve(&all, word, used.offset)).filter(|own| is_number(own));
        let texts = own.filter_map(|own| tree.text().get(own.initializer?.0..own.initializer?.1));
        let more: Vec<String> = texts.flat_map(identifiers).map(str::to_string).collect();
        words.extend(more);
    }
    let is_of_index = |found: &ForLoop| words.contains(found.counter());
    let mut found: Vec<ForLoop> = for_loops(tree, used.offset).into_iter().filter(is_of_index).collect();
    let parameters: Vec<&String> =
        words.iter().filter(|word| resolve(&all, word, used.offset).is_some_and(|own| own.is_parameter)).collect();
    if let Some((place, further)) = outer.split_first().filter(|_| !parameters.is_empty()) {
        let names = tree.parameters_around(used.offset)?;
        let around = object.tree(place);
        let caller = around.node_at(place.offset).and_then(enclosing_function)?;
        let called = demangle(place.callee.as_deref()?);
        let regions = around.regions(place.offset);
        let calls = regions.iter().flat_map(|region| around.calls_of(*region, base_name(&called)));
        let mut given: BTreeSet<String> = BTreeSet::new();
        for call in calls {
            let of_parameter = |(name, _): &(&String, _)| parameters.contains(name);
            let arguments = names.iter().zip(&call.arguments).filter(of_parameter);
            let texts = arguments.filter_map(|(_, range)| around.text().get(range.clone()));
            given.extend(texts.flat_map(identifiers).map(str::to_string));
        }
        let passed = Use { offset: place.offset, words: given };
        found.extend(loops_over(object, around, caller, &passed, further)?);
    }
    found.iter().all(|it| it.rounds.is_some()).then_some(found)
}
