import Foundation
import HoldfastCommandKit
import HoldfastCore
import HoldfastTestKit
import Testing

/// Tests of the reader of configuration files against `tomllib` of Python.
///
/// What this reader accepts, `tomllib` reads with the same values. What it rejects, `tomllib` rejects
/// too, unless the fault is one of the parts of TOML that are not supported.
@Suite(.timeLimit(.minutes(60))) struct TOMLPeerTests {
  /// The faults of texts that are valid TOML.
  private static let unsupported = [
    "tables are not supported", "dotted keys are not supported",
    "strings of several lines are not supported", "lists in lists are not supported",
    "a value without quotation marks must be true, false or a whole number",
    "this is not a whole number in decimal digits", "the number is too large",
  ]

  /// A script that compares the lines of a file with what `tomllib` reads, and prints the number of
  /// documents that both read, that both reject, and that only `tomllib` reads.
  private static let script = """
    import base64, json, sys, tomllib
    unsupported = json.loads(sys.argv[2])
    counts = [0, 0, 0]
    for line in open(sys.argv[1]):
      case = json.loads(line)
      try:
        found = tomllib.loads(base64.b64decode(case["text"]).decode())
      except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        found = None
      if "values" in case:
        values = json.dumps(case["values"], sort_keys=True)
        if found is None or json.dumps(found, sort_keys=True, default=repr) != values:
          print("differs", case, found)
        counts[0] += 1
      elif found is None:
        counts[1] += 1
      else:
        if case["fault"] not in unsupported: print("rejected", case, found)
        counts[2] += 1
    print(*counts)
    """

  private static let pieces = [
    "a", "b-1", "'a'", "\"a\"", "a.b", " = ", "=", " ", "\t", "\n", "\n", "\r\n", "\r", "1", "-7",
    "+0", "01", "1_0", "1_", "0x1f", "1.5", "1e3", "nan", "true", "false", "tru", "\"x\"", "'y'",
    "\"\\\"", "\"\\u00e9\"", "\"\\ud800\"", "\"\\e\"", "\"\"\"", "'''", "\"", "'", "[", "]", "[[",
    "{", "}", ",", ", ", "# é", "#", "é", "\u{1}", "\u{7F}", "\u{85}", "\u{2028}", "\u{FEFF}",
    "2026-12-01", "07:32:00", "\\", "9223372036854775807", "9223372036854775808",
  ]
  private static let values = [
    "1", "-2", "true", "false", "'x'", "\"é\\n\"", "[1, 2]", "['a', \"b\",]", "[]", "[true, 1, '']",
    "[\n 1, # one\n 2\n]", "1_000", "\"\\U0001F600\"", "''", "\"\"", "2.5", "{}", "[[1]]",
  ]

  /// Returns a text of lines that are mostly valid.
  private static func text(_ source: inout RandomSource) -> String {
    var text = ""
    for line in 0..<Int.random(in: 0...5, using: &source) {
      if Int.random(in: 0..<4, using: &source) == 0 {
        for _ in 0..<Int.random(in: 1...6, using: &source) {
          text += pieces[Int.random(in: 0..<pieces.count, using: &source)]
        }
      } else {
        text += "k\(line) = " + values[Int.random(in: 0..<values.count, using: &source)]
      }
      text += ["\n", "\n", "\r\n", " # c\n", ""][Int.random(in: 0..<5, using: &source)]
    }
    return text
  }

  /// Returns a document and what the reader makes of it, as a JSON object on one line.
  private static func line(of text: [UInt8]) throws -> String {
    var object: [String: Any] = ["text": Data(text).base64EncodedString()]
    do throws(TOMLFault) {
      var values: [String: Any] = [:]
      for entry in try TOMLDocument(text).entries {
        switch entry.value {
        case .single(let scalar): values[entry.key] = scalar.plain
        case .list(let elements): values[entry.key] = elements.map(\.scalar.plain)
        }
      }
      object["values"] = values
    } catch {
      object["fault"] = error.cause
    }
    return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
  }

  @Test func `reads the same as tomllib, or rejects what it does not support`() async throws {
    var source = RandomSource(seed: 67)
    var lines: [String] = []
    for _ in 0..<6_000 {
      var text = Array(Self.text(&source).utf8)
      if !text.isEmpty, Int.random(in: 0..<8, using: &source) == 0 {
        text[Int.random(in: 0..<text.count, using: &source)] = UInt8(
          truncatingIfNeeded: source.next())
      }
      lines.append(try Self.line(of: text))
    }
    let scratch = try Scratch()
    try scratch.write(Data(lines.joined(separator: "\n").utf8), to: "cases")
    let unsupported = try JSONSerialization.data(withJSONObject: Self.unsupported)
    let run = await CommandProcess.outcome(
      of: try LabProcess([
        "python3", "-c", Self.script, scratch("cases"),
        String(decoding: unsupported, as: UTF8.self),
      ]))
    #expect(run.status == 0 && run.errors == [])
    #expect(run.output.count == 1, "\(run.output.prefix(5))")
    let counts = run.output.last?.split(separator: " ").compactMap { Int($0) } ?? []
    #expect(counts.count == 3 && counts.allSatisfy { $0 > 100 }, "\(counts)")
  }
}

extension TOMLDocument.Scalar {
  fileprivate var plain: Any {
    switch self {
    case .text(let text): text
    case .integer(let number): number
    case .truth(let value): value
    }
  }
}
