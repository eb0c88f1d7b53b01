import Foundation
import LinkCore

/// A text in the folder `Kept` next to a test, which a long result must equal word by word.
///
/// With `HOLDFAST_KEEP_TEXTS=1` results take the place of what was kept; read the difference before
/// you commit it.
public struct KeptText: Sendable {
  private let name: String
  private let folder: String

  /// The text of this name, next to the file that asks for it.
  public init(_ name: String, beside test: String = #filePath) {
    self.name = name
    folder = test.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Kept"
  }

  /// Returns how a result differs from the text: the first line that does; `nil` if it is the same.
  public func difference(_ lines: [String]) throws -> String? {
    if ProcessInfo.processInfo.environment["HOLDFAST_KEEP_TEXTS"] == "1" {
      try keep(lines)
    }
    return try compare(lines)
  }

  /// Compares without keeping.
  func compare(_ lines: [String]) throws -> String? {
    let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    let kept = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    for (place, (old, new)) in zip(kept, lines).enumerated() where old != new {
      return "\(name):\(place + 1): \(new)\ninstead of: \(old)"
    }
    return kept.count == lines.count ? nil : "\(lines.count) lines instead of \(kept.count)"
  }

  private func keep(_ lines: [String]) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    let data = Data(lines.map { $0 + "\n" }.joined().utf8)
    try data.write(to: URL(filePath: "\(folder)/\(name)"))
  }

  /// Returns a few characters that stand for bytes.
  public static func digest(_ bytes: some Sequence<UInt8>) -> String {
    String(FNV1a.hash(bytes), radix: 16)
  }
}
