//! `[[package.metadata.lmem.budget]]`: resource limits for kernels, by name pattern.

use std::path::PathBuf;

use globset::GlobMatcher;
use serde_json::Value;

use lmem_base::budget::{Limit, Quantity};

use super::glob::matcher;
use super::{ConfigError, ConfigProblem, Reader};

/// One budget table.
#[derive(Debug, Clone)]
pub struct BudgetRule {
    kernel: GlobMatcher,
    pub limits: Vec<Limit>,
    /// The manifest that contains the table.
    pub manifest: PathBuf,
}

impl BudgetRule {
    /// Whether the pattern matches one of the names of a kernel.
    pub fn matches(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.kernel.is_match(name))
    }

    /// The pattern as written.
    pub fn pattern(&self) -> &str {
        self.kernel.glob().glob()
    }
}

impl Reader<'_> {
    pub(super) fn budget(&self, value: &Value) -> Result<BudgetRule, ConfigError> {
        let (mut kernel, mut limits) = (None, Vec::new());
        for (key, value) in self.table(value)? {
            if key == "kernel" {
                let pattern: String = self.value(key, value)?;
                kernel = Some(matcher(&pattern).map_err(|error| self.error(Some(key), error.into()))?);
                continue;
            }
            // The value is a number, or text with a unit.
            let text = match value {
                Value::Number(number) => number.to_string(),
                value => self.value(key, value)?,
            };
            let limit = Quantity::parse(key).and_then(|quantity| Limit::of_value(quantity, &text));
            limits.push(limit.map_err(|error| self.error(Some(key), error.into()))?);
        }
        let kernel = kernel.ok_or_else(|| self.error(None, ConfigProblem::NoKernel))?;
        if limits.is_empty() {
            return Err(self.error(None, ConfigProblem::NoLimit));
        }
        Ok(BudgetRule { kernel, limits, manifest: self.manifest.to_path_buf() })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{PackageConfig, Table};
    use super::*;
    use serde_json::json;

    fn read(budget: Value) -> Result<Vec<BudgetRule>, String> {
        let metadata = json!({ "lmem": { "budget": [budget] } });
        let config = PackageConfig::read(Path::new("/project/Cargo.toml"), Table::Package, &metadata);
        config.map(|config| config.budgets).map_err(|error| error.to_string())
    }

    #[test]
    fn budgets_are_read() {
        let budgets = json!({ "kernel": "reduce*", "stack": 0, "shared": "48K", "occupancy": "50%", "registers": 64 });
        let budgets = read(budgets).unwrap();
        let limits: Vec<String> = budgets[0].limits.iter().map(ToString::to_string).collect();
        assert_eq!(limits, ["occupancy >= 50%", "registers <= 64", "shared <= 49152", "stack = 0"].map(String::from));
        assert!(budgets[0].matches(&["reduce<32>", "_Z6reduce"]) && !budgets[0].matches(&["scan"]));
        assert_eq!(budgets[0].pattern(), "reduce*");
    }

    #[test]
    fn mistakes_name_the_key() {
        let error = |budget| read(budget).unwrap_err();
        let text = error(json!({ "kernel": "a", "register": 64 }));
        assert!(
            text.starts_with("`package.metadata.lmem.budget.register` in")
                && text.contains("did you mean `registers`?"),
            "{text}"
        );
        assert!(error(json!({ "stack": 0 })).contains("the key `kernel` is missing"));
        assert!(error(json!({ "kernel": "a" })).contains("it limits nothing"));
        assert!(error(json!({ "kernel": "a", "stack": "much" })).contains("`much` is no limit for `stack`"));
        assert!(error(json!({ "kernel": "a", "stack": -1 })).contains("`-1` is no limit"));
        assert!(error(json!({ "kernel": "a", "stack": true })).contains("invalid type"));
        assert!(error(json!({ "kernel": "[a", "stack": 0 })).contains("budget.kernel"));
    }
}
