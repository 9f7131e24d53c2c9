//! Tokens and their roles, kept as checksums.
//!
//! A token is 256 random bits, so its plain SHA-256 does not reveal it and needs no salt; it is shown once, when it is
//! made.

use crate::failure::ServeError;
use crate::token_file::TokenFile;
use icee_base::names::Unknown;
use icee_protocol::Role;
use rand::TryRng;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use subtle::ConstantTimeEq;

/// The prefix of tokens, so that scanners for secrets find them.
const PREFIX: &str = "icee_";
/// Characters of a token's name.
const LONGEST: usize = 64;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its name: its owner, or its use.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The SHA-256 of its text, in hexadecimal digits.
    hash: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
}

impl Token {
    /// A token as it was kept.
    pub(crate) fn kept(name: String, role: Role, hash: String, created: u64) -> Token {
        Token { name, role, hash, created }
    }

    /// The SHA-256 of its text.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}

/// A store of tokens.
pub trait Kept: Send + Sync {
    /// All of them.
    fn all(&self) -> icee_protocol::Result<Vec<Token>>;

    /// Whether there ever was one.
    fn ever(&self) -> icee_protocol::Result<bool>;

    /// Adds one, unless the name is taken.
    fn add(&self, token: Token) -> icee_protocol::Result<bool>;

    /// Deletes one.
    fn remove(&self, name: &str) -> icee_protocol::Result<()>;
}

/// The tokens of a server.
pub struct Tokens(Box<dyn Kept>);

impl Tokens {
    /// The tokens of a folder of studies.
    pub fn in_folder(folder: &Path) -> Tokens {
        Tokens(Box::new(TokenFile::in_folder(folder)))
    }

    /// Tokens in another store.
    pub(crate) fn new(kept: Box<dyn Kept>) -> Tokens {
        Tokens(kept)
    }

    /// All of them.
    ///
    /// # Errors
    /// If they cannot be read: then no request is admitted.
    pub fn all(&self) -> icee_protocol::Result<Vec<Token>> {
        self.0.all()
    }

    /// Whether a token is required: from the first token on, even after the last one was revoked.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn are_required(&self) -> icee_protocol::Result<bool> {
        self.0.ever()
    }

    /// The token with this text, if any. All are compared, each in constant time.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn find(&self, text: &str) -> icee_protocol::Result<Option<Token>> {
        Ok(Tokens::find_in(self.all()?, text))
    }

    /// The same among tokens that are at hand.
    pub(crate) fn find_in(tokens: Vec<Token>, text: &str) -> Option<Token> {
        let hash = hash(text);
        let same = |token: &Token| bool::from(token.hash.as_bytes().ct_eq(hash.as_bytes()));
        tokens.into_iter().fold(None, |found, token| if same(&token) { Some(token) } else { found })
    }

    /// Makes a token and returns its text, which is not stored.
    ///
    /// # Errors
    /// If the name is taken or invalid, or the token cannot be stored.
    pub fn create(&self, name: &str, role: Role, now: u64) -> Result<String, ServeError> {
        let usable = |c: char| c.is_alphanumeric() || "-_.@ ".contains(c);
        if name.trim().is_empty() || name.chars().count() > LONGEST || !name.chars().all(usable) {
            return Err(ServeError::Token(format!(
                "A token cannot be called \"{name}\". Use letters, digits, spaces and - _ . @"
            )));
        }
        let mut secret = [0; 32];
        let random = |error| ServeError::Token(format!("The system gives no random numbers: {error}"));
        SysRng.try_fill_bytes(&mut secret).map_err(random)?;
        let text = format!("{PREFIX}{}", hex(&secret));
        let token = Token { name: name.to_owned(), role, hash: hash(&text), created: now };
        if !self.0.add(token)? {
            let words = format!("A token \"{name}\" exists already. Choose another name, or revoke it first.");
            return Err(ServeError::Token(words));
        }
        Ok(text)
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// If there is none of that name, or it cannot be deleted.
    pub fn revoke(&self, name: &str) -> Result<(), ServeError> {
        let names: Vec<String> = self.all()?.into_iter().map(|token| token.name).collect();
        if !names.iter().any(|known| known == name) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(ServeError::Token(match known.is_empty() {
                true => "There is no token.".into(),
                false => Unknown::new("token", name, &known).to_string(),
            }));
        }
        Ok(self.0.remove(name)?)
    }
}

/// The SHA-256 of a text, in hexadecimal digits.
fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_kept_as_checksums_and_go_at_once() {
        let folder = std::env::temp_dir().join(format!("icee-tokens-{}", std::process::id()));
        let tokens = Tokens::in_folder(&folder);
        assert_eq!(tokens.all().unwrap(), []);
        let text = tokens.create("Ada", Role::Write, 7).unwrap();
        assert_eq!(text.len(), PREFIX.len() + 64);
        assert!(tokens.create("Ada", Role::Read, 7).unwrap_err().to_string().contains("already"));
        assert!(tokens.create("a/b", Role::Read, 7).is_err() && tokens.create("", Role::Read, 7).is_err());
        assert_eq!(tokens.find(&text).unwrap().unwrap().role, Role::Write);
        assert_eq!(tokens.find(&text[1..]).unwrap(), None);
        let kept = std::fs::read_to_string(folder.join("tokens.json")).unwrap();
        assert!(!kept.contains(&text) && !kept.contains(&text[PREFIX.len()..]));
        assert!(tokens.revoke("Adda").unwrap_err().to_string().contains("did you mean \"Ada\""));
        // Another program has revoked it.
        Tokens::in_folder(&folder).revoke("Ada").unwrap();
        assert_eq!(tokens.find(&text).unwrap(), None);
        std::fs::write(folder.join("tokens.json"), "{").unwrap();
        assert!(tokens.find(&text).is_err(), "a damaged file lets nobody in");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
