//! Selection of packages, following cargo's rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cargo_metadata::Metadata;

use lmem_base::places;
use lmem_base::source::normalize;
use lmem_base::words::nearest;

use super::remember::Remember;
use super::{DiscoverError, Scope, cargo};
use crate::config::glob::matcher;
use crate::config::{ConfigError, FILE_NAME, PackageConfig, Table};
use crate::discover::unmatched::Unmatched;

/// A package of the workspace.
#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    /// Cargo's package id, as in its JSON messages.
    pub id: String,
    pub manifest_path: PathBuf,
    /// The folder of the manifest.
    pub root: PathBuf,
    /// Libraries, binaries, examples and so on, as in cargo's JSON messages.
    pub targets: Vec<cargo_metadata::Target>,
    pub config: Arc<PackageConfig>,
    /// Names of workspace packages that share a binary of the workspace with this one, including its own name.
    pub shares_program_with: BTreeSet<String>,
    pub(super) target_folders: Vec<PathBuf>,
}

impl Package {
    /// The target folder for captured builds, separate from the user's own.
    pub fn capture_folder(&self) -> PathBuf {
        self.target_folders.first().map_or_else(|| self.root.join("target"), PathBuf::clone).join("lmem")
    }

    /// Folders that cargo writes to.
    pub fn output_folders(&self) -> &[PathBuf] {
        &self.target_folders
    }

    /// The sources of the package's build scripts.
    pub fn build_scripts(&self) -> impl Iterator<Item = &Path> {
        self.targets.iter().filter(|target| target.is_custom_build()).map(|target| target.src_path.as_std_path())
    }

    pub fn has_build_script(&self) -> bool {
        self.build_scripts().next().is_some()
    }

    /// # Errors
    /// The settings of the package or its workspace are invalid.
    pub(super) fn new(
        package: &cargo_metadata::Package,
        project: &Metadata,
        programs: &[BTreeSet<&str>],
    ) -> Result<Self, ConfigError> {
        let manifest_path = PathBuf::from(package.manifest_path.as_std_path());
        let own = PackageConfig::read(&manifest_path, Table::Package, &package.metadata)?;
        let folders = [Some(&project.target_directory), project.build_directory.as_ref()];
        Ok(Self {
            name: package.name.to_string(),
            id: package.id.repr.clone(),
            root: manifest_path.parent().map(Path::to_path_buf).unwrap_or_default(),
            manifest_path,
            targets: package.targets.clone(),
            config: Arc::new(own.over(&workspace_config(project)?)),
            shares_program_with: programs
                .iter()
                .filter(|program| program.contains(package.name.as_str()))
                .flat_map(|program| program.iter().map(ToString::to_string))
                .collect(),
            target_folders: folders.into_iter().flatten().map(|folder| PathBuf::from(folder.as_std_path())).collect(),
        })
    }
}

/// For each package of the workspace, the package and all its dependencies. Dependencies outside the workspace are
/// known only if a member names them.
pub(super) fn programs(project: &Metadata) -> Vec<BTreeSet<&str>> {
    let members: BTreeMap<&str, &cargo_metadata::Package> =
        project.packages.iter().map(|package| (package.name.as_str(), package)).collect();
    members.keys().map(|name| program(name, &members)).collect()
}

/// A package and all its dependencies.
fn program<'a>(name: &'a str, members: &BTreeMap<&'a str, &'a cargo_metadata::Package>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![name];
    while let Some(name) = waiting.pop() {
        let is_new = found.insert(name);
        let package = members.get(name).filter(|_| is_new);
        let dependencies = package.into_iter().flat_map(|package| &package.dependencies);
        waiting.extend(dependencies.map(|dependency| dependency.name.as_str()));
    }
    found
}

fn workspace_config(project: &Metadata) -> Result<PackageConfig, ConfigError> {
    let manifest = project.workspace_root.join("Cargo.toml");
    PackageConfig::read(manifest.as_std_path(), Table::Workspace, &project.workspace_metadata)
}

/// The manifest that the scope refers to.
pub(super) fn manifest_of(scope: &Scope) -> Result<PathBuf, DiscoverError> {
    match &scope.manifest_path {
        Some(path) => {
            let path = normalize(&scope.current_folder.join(path));
            if path.is_file() { Ok(path) } else { Err(DiscoverError::NoFile(path)) }
        }
        None => nearest_manifest(&scope.current_folder)
            .ok_or_else(|| DiscoverError::NoManifest(scope.current_folder.clone())),
    }
}

/// The root of a project without Cargo: the nearest folder with an `lmem.toml`, unless a manifest is nearer.
pub(super) fn root_without_cargo(scope: &Scope) -> Option<PathBuf> {
    let is_asked_for_cargo = scope.manifest_path.is_some() || !scope.packages.is_empty() || scope.workspace;
    let mut folders = scope.current_folder.ancestors().filter(|_| !is_asked_for_cargo);
    let nearest = folders.find(|folder| folder.join("Cargo.toml").is_file() || folder.join(FILE_NAME).is_file())?;
    (!nearest.join("Cargo.toml").is_file()).then(|| nearest.to_path_buf())
}

fn nearest_manifest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file())
}

/// The packages that cargo would build for this scope, and the names in `--exclude` that match no package.
pub(super) fn select<'a>(
    project: &'a Metadata,
    manifest: &Path,
    scope: &Scope,
) -> Result<(Vec<&'a cargo_metadata::Package>, Vec<Unmatched>), DiscoverError> {
    let members = project.workspace_packages();
    if !scope.packages.is_empty() {
        let mut selected = Vec::new();
        for spec in &scope.packages {
            let found = matching(&members, spec)?;
            if found.is_empty() {
                let names = members.iter().map(|package| package.name.as_str());
                return Err(DiscoverError::NoPackage {
                    spec: spec.clone(),
                    near: nearest(spec, names).map(str::to_string),
                });
            }
            selected.extend(found);
        }
        selected.sort_by_key(|package| &package.id);
        selected.dedup_by_key(|package| &package.id);
        return Ok((selected, Vec::new()));
    }
    if scope.workspace {
        return without_excluded(members, &scope.exclude);
    }
    Ok((default_packages(project, manifest, members), Vec::new()))
}

/// Larger Rust files are tables of data.
const MAX_RUST_BYTES: u64 = 1 << 20;

/// Search depth for CUDA files in a package.
const MAX_DEPTH: usize = 8;

/// Search depth for packages in a workspace.
const MAX_PACKAGE_DEPTH: usize = 4;

/// Packages with CUDA files that no option can select because they are not members: those that the selected packages
/// build, and those below the workspace's folder.
pub(super) fn left_out(project: &Metadata, selected: &[&cargo_metadata::Package]) -> Vec<String> {
    let is_member =
        |path: &Path| project.packages.iter().any(|package| package.manifest_path.as_std_path().parent() == Some(path));
    let dependencies = selected.iter().flat_map(|package| &package.dependencies);
    let paths = dependencies
        .filter_map(|dependency| Some((&dependency.name, normalize(dependency.path.as_ref()?.as_std_path()))));
    let mut foreign: Vec<_> = paths.filter(|(_, path)| !is_member(path) && has_cuda(path)).collect();
    foreign.sort();
    foreign.dedup();
    let mut notes: Vec<String> = foreign
        .iter()
        .map(|(name, path)| {
            format!("`{name}` is no member of the workspace and is not checked: `cargo lmem {}` does", path.display())
        })
        .collect();
    // Only a part of the workspace was selected, so packages elsewhere are left out on purpose.
    if selected.len() == project.packages.len() {
        let is_known = |path: &Path| is_member(path) || foreign.iter().any(|(_, known)| known == path);
        let others = packages_below(project).into_iter().filter(|path| !is_known(path) && has_cuda(path));
        notes.extend(nested(&others.collect::<Vec<_>>()));
    }
    notes
}

/// The message about packages below the workspace's folder that are not members: one line, since there may be many.
fn nested(folders: &[PathBuf]) -> Option<String> {
    let (first, more) = folders.split_first()?;
    let first = first.display();
    Some(match more.len() {
        0 => format!("`{first}` is no member of the workspace and is not checked: `cargo lmem {first}` does"),
        1 => format!(
            "`{first}` and another package are no members of the workspace and are not checked: name their folders to do so"
        ),
        count => format!(
            "`{first}` and {count} other packages are no members of the workspace and are not checked: name their folders to do so"
        ),
    })
}

fn packages_below(project: &Metadata) -> Vec<PathBuf> {
    let is_searched = |entry: &walkdir::DirEntry| {
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.') && entry.depth() > 0;
        entry.file_type().is_dir() && !is_hidden && !entry.path().join("CACHEDIR.TAG").is_file()
    };
    let root = project.workspace_root.as_std_path();
    let walk = walkdir::WalkDir::new(root).max_depth(MAX_PACKAGE_DEPTH).sort_by_file_name().into_iter();
    let folders = walk.filter_entry(is_searched).filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    folders.filter(|folder| folder != root && folder.join("Cargo.toml").is_file()).collect()
}

/// Whether a file is, or a folder has, a `.cu` file or a Rust file with a kernel in it.
pub fn has_cuda(folder: &Path) -> bool {
    let mut walk = walkdir::WalkDir::new(folder).max_depth(MAX_DEPTH).into_iter().filter_map(Result::ok);
    walk.any(|entry| match entry.path().extension().and_then(|ending| ending.to_str()) {
        Some("cu") => true,
        Some("rs") => has_kernel(entry.path()),
        _ => false,
    })
}

fn has_kernel(path: &Path) -> bool {
    places::read(path, MAX_RUST_BYTES).is_ok_and(|bytes| memchr::memmem::find(&bytes, b"__global__").is_some())
}

/// Whether a manifest may name source files by their paths.
pub(super) fn may_name_files(manifest: &Path) -> bool {
    places::read(manifest, MAX_RUST_BYTES).is_ok_and(|bytes| memchr::memmem::find(&bytes, b"path").is_some())
}

fn without_excluded<'a>(
    mut members: Vec<&'a cargo_metadata::Package>,
    exclude: &[String],
) -> Result<(Vec<&'a cargo_metadata::Package>, Vec<Unmatched>), DiscoverError> {
    let names: Vec<&str> = members.iter().map(|package| package.name.as_str()).collect();
    let mut unmatched = Vec::new();
    for spec in exclude {
        let found = matching(&members, spec)?;
        if found.is_empty() {
            // A name without a match is only a warning, as in cargo.
            let near = nearest(spec, names.iter().copied()).map(str::to_string);
            unmatched.push(Unmatched { manifest: None, key: "--exclude", text: spec.clone(), near });
        }
        members.retain(|member| !found.iter().any(|package| package.id == member.id));
    }
    Ok((members, unmatched))
}

/// In a package's folder that package, in the workspace's folder its default members.
fn default_packages<'a>(
    project: &'a Metadata,
    manifest: &Path,
    members: Vec<&'a cargo_metadata::Package>,
) -> Vec<&'a cargo_metadata::Package> {
    let is_manifest = |package: &&&cargo_metadata::Package| package.manifest_path.as_std_path() == manifest;
    let at_root = manifest.parent() == Some(project.workspace_root.as_std_path());
    if at_root && project.workspace_default_members.is_available() {
        return project.workspace_default_packages();
    }
    match members.iter().find(is_manifest) {
        Some(package) => vec![package],
        None => members,
    }
}

/// Packages whose name, `name@version` or id is `spec`, or matches it as a glob.
fn matching<'a>(
    members: &[&'a cargo_metadata::Package],
    spec: &str,
) -> Result<Vec<&'a cargo_metadata::Package>, DiscoverError> {
    let glob = matcher(spec).map_err(|source| DiscoverError::Glob { spec: spec.to_string(), source })?;
    let is_meant = |package: &&&cargo_metadata::Package| {
        let name = package.name.as_str();
        name == spec || package.id.repr == spec || format!("{name}@{}", package.version) == spec || glob.is_match(name)
    };
    Ok(members.iter().filter(is_meant).copied().collect())
}

/// Packages of files that were named on the command line, looked up on demand.
#[derive(Default)]
pub(super) struct Projects {
    pub packages: Vec<Package>,
    pub notes: Vec<String>,
    /// Manifests that cannot be used.
    pub broken: Vec<(PathBuf, String)>,
    /// Cache for the output of cargo.
    pub memory: Option<Arc<dyn Remember>>,
    places: BTreeMap<PathBuf, Place>,
    loaded: Vec<Arc<Metadata>>,
    roots: Vec<Option<PathBuf>>,
}

/// The package and workspace that a folder belongs to.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub package: Option<usize>,
    pub config: Arc<PackageConfig>,
}

impl Projects {
    /// The package of the nearest manifest; empty if there is none, or cargo cannot read it.
    pub fn place_of(&mut self, folder: &Path) -> Result<Place, DiscoverError> {
        if let Some(place) = self.places.get(folder) {
            return Ok(place.clone());
        }
        let (manifest, settings) = (folder.join("Cargo.toml"), folder.join(FILE_NAME));
        let place = match (manifest.is_file(), settings.is_file(), folder.parent()) {
            (true, _, _) => self.place_of_manifest(&manifest)?,
            (false, true, _) => {
                self.roots.push(Some(folder.to_path_buf()));
                Place { package: None, config: Arc::new(PackageConfig::read_file(&settings)?) }
            }
            (false, false, Some(parent)) => self.place_of(parent)?,
            (false, false, None) => self.outside(),
        };
        self.places.insert(folder.to_path_buf(), place.clone());
        Ok(place)
    }

    /// The common workspace root, if all files belong to one workspace.
    pub fn common_root(&self) -> Option<PathBuf> {
        let first = self.roots.first()?.clone()?;
        self.roots.iter().all(|root| root.as_ref() == Some(&first)).then_some(first)
    }

    fn outside(&mut self) -> Place {
        self.roots.push(None);
        Place::default()
    }

    fn place_of_manifest(&mut self, manifest: &Path) -> Result<Place, DiscoverError> {
        let project = match self.project_of(manifest) {
            Ok(project) => project,
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.split("\n\n").next().unwrap_or_default().replace('\n', " ");
                // Without cargo, no manifest can be read, and that is not the manifest's fault.
                match cargo::is_there() {
                    true => self.broken.push((manifest.to_path_buf(), reason)),
                    false => self.notes.push(format!("`{}` is not used: {reason}", manifest.display())),
                }
                return Ok(self.outside());
            }
        };
        self.roots.push(Some(PathBuf::from(project.workspace_root.as_std_path())));
        let package = project.packages.iter().find(|package| package.manifest_path.as_std_path() == manifest);
        let Some(package) = package else {
            return Ok(Place { package: None, config: Arc::new(workspace_config(&project)?) });
        };
        let package = Package::new(package, &project, &programs(&project))?;
        let config = Arc::clone(&package.config);
        self.packages.push(package);
        Ok(Place { package: Some(self.packages.len() - 1), config })
    }

    fn project_of(&mut self, manifest: &Path) -> Result<Arc<Metadata>, DiscoverError> {
        let knows = |project: &&Arc<Metadata>| {
            project.packages.iter().any(|package| package.manifest_path.as_std_path() == manifest)
        };
        if let Some(project) = self.loaded.iter().find(knows) {
            return Ok(Arc::clone(project));
        }
        let project = Arc::new(cargo::metadata(manifest, self.memory.as_deref())?);
        self.loaded.push(Arc::clone(&project));
        Ok(project)
    }
}
