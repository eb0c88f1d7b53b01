import Foundation
import HoldfastCore
import HoldfastJSON
import HoldfastKeyedHashing
import HoldfastRelayData
import HoldfastSyncData
import HoldfastSyncServer

/// The users of health sync and the hashes of their secrets.
///
/// They are read from a file whose lines have the form `USER SECRET [ZONE]`.
struct SyncSecrets: Sendable {
  private struct Entry: Sendable {
    var user: SyncUser
    var hash: [UInt8]
    var line: Int
  }

  /// The maximum length of a user name, in bytes. The limit is Holdfast's own.
  static let maxNameBytes = 200
  /// The maximum length of a secret, in bytes. The limit is Holdfast's own.
  static let maxSecretBytes = 1_024
  /// The minimum length of a secret, in bytes. A shorter one could be guessed in spite of the limits
  /// of wrong secrets.
  static let minSecretBytes = 16

  private var entries: [Entry] = []

  /// The users, in the order of the file's lines.
  var users: [SyncUser] { entries.map(\.user) }

  /// Parses the lines of a file. Empty lines and lines that begin with `#` are ignored.
  ///
  /// - Throws: The fault in the first invalid line. The fault does not contain the secret.
  init(_ text: [UInt8]) throws(SyncSecretsFault) {
    guard let text = String(validating: text, as: UTF8.self) else { throw .notText }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let fields = line.split { $0 == " " || $0 == "\t" }
      guard let name = fields.first, !name.hasPrefix("#") else { continue }
      try add(fields, line: index + 1)
    }
    guard !entries.isEmpty else { throw .empty }
  }

  private mutating func add(_ fields: [Substring], line: Int) throws(SyncSecretsFault) {
    guard (2...3).contains(fields.count) else { throw .fields(line: line) }
    let name = String(fields[0])
    guard name.utf8.count <= Self.maxNameBytes else {
      throw .tooLong(line: line, what: "user", limit: Self.maxNameBytes)
    }
    guard fields[1].utf8.count <= Self.maxSecretBytes else {
      throw .tooLong(line: line, what: "secret", limit: Self.maxSecretBytes)
    }
    guard fields[1].utf8.count >= Self.minSecretBytes else {
      throw .tooShort(line: line, least: Self.minSecretBytes)
    }
    var user = SyncUser(name)
    if fields.count == 3 {
      user.zone = String(fields[2])
      guard TimeZone(identifier: String(fields[2])) != nil else {
        throw .zone(line: line, name: String(fields[2].prefix(100)))
      }
    }
    let hash = ContentHash.of(Array(fields[1].utf8))
    for other in entries {
      if other.user.name == name { throw .sameUser(line: line, as: other.line) }
      if other.hash == hash { throw .sameSecret(line: line, as: other.line) }
    }
    entries.append(Entry(user: user, hash: hash, line: line))
  }

  /// Forgets a user.
  mutating func remove(_ name: String) { entries.removeAll { $0.user.name == name } }

  /// Returns the user whose secret this is; `nil` if there is none.
  ///
  /// Every hash is compared completely, so the duration reveals nothing about the secrets.
  func user(of secret: String?) -> SyncUser? {
    guard let secret else { return nil }
    let hash = ContentHash.of(Array(secret.utf8))
    var found: SyncUser?
    for entry in entries where KeyedHash.areEqual(entry.hash, hash) {
      found = entry.user
    }
    return found
  }

  /// Returns the hash of a secret that is no user's; `nil` for one of a user.
  func wrong(_ secret: String?) -> TokenHash? {
    guard let secret, user(of: secret) == nil else { return nil }
    return TokenHash(ContentHash.of(Array(secret.utf8)))
  }

  /// Returns the proof that a phone sent the present secret of a user; `nil` if there is no such
  /// user.
  ///
  /// The first byte keeps it apart from tokens of the same key, which sign text.
  func proof(of name: String, signing sign: ([UInt8]) -> [UInt8]) -> TokenHash? {
    entries.first { $0.user.name == name }.flatMap {
      TokenHash(sign([0] + Array("synced \(name)".utf8) + [0] + $0.hash))
    }
  }

  /// Returns the user whose samples a phone may read, or `nil` if the secret that it sent is no
  /// longer that of the user.
  func owner(of user: SyncedUser, signing sign: ([UInt8]) -> [UInt8]) -> SyncUser? {
    guard let proof = user.proof, proof == self.proof(of: user.name, signing: sign) else {
      return nil
    }
    return users.first { $0.name == user.name }
  }

  /// Returns the content of a new file: one user whose secret has 256 random bits.
  static func fresh() -> [UInt8] {
    Array(
      """
      # USER SECRET [ZONE], one user in each line. The zone cuts days, such as Europe/Berlin.
      me \(Base64URL.encode(.random(32)))

      """.utf8)
  }
}

extension SyncSecrets {
  /// Opens a file. If it is missing, the file is created (0600) with a random secret.
  ///
  /// - Returns: The secrets, and whether users other than the file's owner can read or change the
  ///   file.
  static func open(_ path: String) throws(BackendError) -> (secrets: SyncSecrets, isOpen: Bool) {
    do throws(BackendError) {
      return (try decode(PrivateFile(path: path).readOrCreate(fresh()), path), false)
    } catch {
      guard case .openToOthers = error else { throw error }
      return (try read(path), true)
    }
  }

  /// Reads a file, which must exist.
  static func read(_ path: String) throws(BackendError) -> SyncSecrets {
    try decode(PrivateFile(path: path).readExisting(), path)
  }

  /// Reads a file if it exists.
  ///
  /// - Throws: `.file` if the file is invalid.
  static func check(_ path: String) throws(BackendError) {
    if let content = try PrivateFile(path: path).read() { _ = try decode(content, path) }
  }

  private static func decode(
    _ content: [UInt8], _ path: String
  ) throws(BackendError) -> SyncSecrets {
    do throws(SyncSecretsFault) {
      return try SyncSecrets(content)
    } catch {
      throw .file(path: path, detail: error.description)
    }
  }
}

/// A fault in a file of secrets. It does not contain a secret.
enum SyncSecretsFault: Error, Sendable, Hashable, CustomStringConvertible {
  case notText
  case empty
  case fields(line: Int)
  case tooLong(line: Int, what: String, limit: Int)
  case tooShort(line: Int, least: Int)
  case zone(line: Int, name: String)
  case sameUser(line: Int, as: Int)
  case sameSecret(line: Int, as: Int)

  var description: String {
    switch self {
    case .notText: "it is not UTF-8 text; write lines such as: ann SECRET Europe/Berlin"
    case .empty: "it names no user; write a line such as: ann SECRET Europe/Berlin"
    case .fields(let line): "line \(line): write USER SECRET, and a time zone if one is wanted"
    case .tooLong(let line, let what, let limit):
      "line \(line): the \(what) is longer than \(limit) bytes; choose a shorter one"
    case .tooShort(let line, let least):
      "line \(line): the secret is shorter than \(least) bytes; write the output of "
        + "`openssl rand -hex 16` instead, here and on the phone"
    case .zone(let line, let name):
      "line \(line): no time zone is called \(name); write one such as Europe/Berlin"
    case .sameUser(let line, let other):
      "line \(line): the user of line \(other) again; give each user one line"
    case .sameSecret(let line, let other):
      "line \(line): the secret of line \(other) again; give each user a secret of their own"
    }
  }
}

extension ContentHash {
  /// Returns the hash that identifies a record, whose content it is.
  mutating func hash(_ text: [UInt8]) -> SyncHash {
    add(text[...])
    guard let hash = SyncHash(finish()) else {
      preconditionFailure("a hash of SHA-256 has 32 bytes")
    }
    return hash
  }
}
