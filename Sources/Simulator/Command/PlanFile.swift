import Foundation
import HoldfastCommandKit
import HoldfastDriver
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastWorlds

/// Plan files, in the same format as the corpus of the tests.
enum PlanFile<Feature: SimulatedFeature> {
  /// Returns the corpus case in a file.
  static func read(_ path: String) throws(CommandFailure) -> CorpusCase<Feature> {
    let bytes = try TextFile.read(path)
    let problem: String
    do {
      guard let repeated = try MemberScan(bytes).repeated else {
        return try JSONDecoder().decode(CorpusCase<Feature>.self, from: Data(bytes))
      }
      problem = "\(repeated) occurs twice"
    } catch {
      problem = describe(error)
    }
    let name = path == "-" ? "standard input" : path
    throw CommandFailure(.failed, "\(name) holds no plan: \(problem)")
  }

  /// Returns a description of the problem with a plan. If a decoder of a plan refused a value, the
  /// decoder's own description is used.
  private static func describe(_ error: any Error) -> String {
    if let error = error as? JSONError {
      return "it is not JSON: \(error.detail) at byte \(error.offset)"
    }
    let whole = "the file"
    switch error as? DecodingError {
    case .dataCorrupted(let context)? where !context.codingPath.isEmpty:
      return "\(DecodingFault.path(context, in: whole)): \(context.debugDescription)"
    case .typeMismatch(let type, let context)?:
      return "\(DecodingFault.path(context, in: whole)) is not \(describe(type))"
    case _: return DecodingFault.description(for: error, in: whole)
    }
  }

  /// Returns the JSON term for the values of a type.
  private static func describe(_ type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text"
    case is Bool.Type: "true or false"
    case is [Any].Type: "a list"
    case is [String: Any].Type: "an object"
    case _: "a number"
    }
  }

  /// Writes a corpus case to a file that all users can read (0644), replacing an existing file.
  static func write(_ corpusCase: CorpusCase<Feature>, to path: String) throws(CommandFailure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes: Data
    do {
      bytes = try encoder.encode(corpusCase) + Data("\n".utf8)
    } catch {
      throw CommandFailure(.failed, "the plan cannot be written as JSON: \(error)")
    }
    try TextFile.write(bytes, to: path)
  }
}

/// A scan of all member names in a JSON text. It is needed because decoders ignore duplicate names.
private struct MemberScan {
  /// The path of the first member whose name occurs twice in its object.
  private(set) var repeated: String?
  private var reader: JSONReader

  /// Creates a scan of a text.
  ///
  /// - Throws: `JSONError` if the text is not JSON.
  init(_ bytes: [UInt8]) throws(JSONError) {
    reader = JSONReader(bytes)
    try scan("")
    try reader.finish()
  }

  private mutating func scan(_ path: String) throws(JSONError) {
    switch try reader.peek() {
    case .object:
      var names: Set<String> = []
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        let member = path.isEmpty ? name : "\(path).\(name)"
        if !names.insert(name).inserted { repeated = repeated ?? member }
        try scan(member)
      }
    case .array:
      var index = 0
      try reader.beginArray()
      while try reader.nextElement() {
        try scan("\(path)[\(index)]")
        index += 1
      }
    case .string, .number, .bool, .null: try reader.skipValue()
    }
  }
}
