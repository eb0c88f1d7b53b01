import Foundation
package import HoldfastCore

/// The first line of a journal, which contains all values needed to create the same machine again.
///
/// In the file, the header is one object. It combines the header's own fields with those of the
/// machine's birth.
package struct JournalHeader<M: Journaled>: Sendable, Hashable, Codable {
  /// The number of this file in the run, counted from 1. A new part begins when a file is full.
  package var part = 1
  /// The values that the machine is created from.
  package var birth: M.Birth
  /// The seed of the machine's random source.
  package var seed: UInt64
  /// The wall-clock time at which the run began. All parts of a run have the same time.
  package var startedAt: Timestamp

  package init(birth: M.Birth, seed: UInt64, startedAt: Timestamp) {
    self.birth = birth
    self.seed = seed
    self.startedAt = startedAt
  }

  private enum CodingKeys: CodingKey {
    case journal, machine, part, seed, startedAt
  }

  package init(from decoder: any Decoder) throws {
    birth = try M.Birth(from: decoder)
    let fields = try decoder.container(keyedBy: CodingKeys.self)
    part = try fields.decode(Int.self, forKey: .part)
    seed = try fields.decode(UInt64.self, forKey: .seed)
    startedAt = try fields.decode(Timestamp.self, forKey: .startedAt)
  }

  package func encode(to encoder: any Encoder) throws {
    try birth.encode(to: encoder)
    var fields = encoder.container(keyedBy: CodingKeys.self)
    try fields.encode(JournalFormat.version, forKey: .journal)
    try fields.encode(M.journalName, forKey: .machine)
    try fields.encode(part, forKey: .part)
    try fields.encode(seed, forKey: .seed)
    try fields.encode(startedAt, forKey: .startedAt)
  }
}

/// The fields that every journal contains, whatever its machine and version.
package struct JournalFormat: Decodable {
  /// The format version that this software writes. Version 1 has no notes, and is read too.
  package static let version = 2

  private let journal: Int
  private let machine: String?

  /// Returns the name of the machine in a journal's header.
  ///
  /// - Throws: An error if the file cannot be read, or does not begin with a header of this
  ///   version.
  package static func machine(of path: String) throws(JournalError) -> String {
    var lines = try LineReader(path: path)
    return try read(try lines.next(), in: path).machine
  }

  /// Returns the version of the format, and the name of the machine, in a journal's first line.
  static func read(
    _ line: LineReader.Line?, in path: String
  ) throws(JournalError) -> (version: Int, machine: String) {
    guard let line else { throw JournalError(path: path, line: 1, .header("the file is empty")) }
    let format = try JournalError.header(JournalFormat.self, from: line.bytes, in: path)
    guard (1...version).contains(format.journal) else {
      throw JournalError(path: path, line: 1, .version(format.journal))
    }
    guard let machine = format.machine else {
      throw JournalError(path: path, line: 1, .header("machine is missing"))
    }
    return (format.journal, machine)
  }
}

extension JournalError {
  /// Decodes the first line of a journal.
  ///
  /// - Parameter version: The version of its format, if that is known.
  static func header<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], in path: String, version: Int? = nil
  ) throws(JournalError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      let detail = DecodingFault.description(for: error)
      throw JournalError(
        path: path, line: 1, version.map { .form(detail, version: $0) } ?? .header(detail))
    }
  }
}
