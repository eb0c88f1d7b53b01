import Foundation
import HoldfastCore

/// A stored text, in the folder `Kept` beside a test, that a long result must equal.
///
/// If the environment variable `HOLDFAST_KEEP_TEXTS` is 1, results replace the stored texts. Read
/// the differences before you commit them.
public struct GoldenText: Sendable {
  private let name: String
  private let folder: String

  /// Creates a reference to the text with this name, stored beside the calling test.
  public init(_ name: String, beside test: String = #filePath) {
    self.name = name
    folder = test.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Kept"
  }

  /// Returns the first line of a result that differs from the text, or `nil` if there is none.
  public func difference(_ lines: [String]) throws -> String? {
    if ProcessInfo.processInfo.environment["HOLDFAST_KEEP_TEXTS"] == "1" {
      try write(lines)
    }
    return try compare(lines)
  }

  /// Compares a result with the stored text, which stays unchanged.
  func compare(_ lines: [String]) throws -> String? {
    let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    let stored = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    for (index, (old, new)) in zip(stored, lines).enumerated() where old != new {
      return "\(name):\(index + 1): \(new)\ninstead of: \(old)"
    }
    return stored.count == lines.count ? nil : "\(lines.count) lines instead of \(stored.count)"
  }

  private func write(_ lines: [String]) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    let data = Data(lines.map { $0 + "\n" }.joined().utf8)
    try data.write(to: URL(filePath: "\(folder)/\(name)"))
  }

  /// Returns a hash of the bytes as a short text.
  public static func digest(_ bytes: some Sequence<UInt8>) -> String {
    String(FNV1a.hash(bytes), radix: 16)
  }
}
