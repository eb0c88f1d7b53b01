/// Texts that must not appear anywhere, such as tokens. A single pass searches for all of them.
public struct SecretTexts: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The texts, grouped by their first three bytes.
  private var texts: [UInt32: [[UInt8]]] = [:]
  /// For each of the 256 byte values, whether any text begins with it.
  private var isFirst: [Bool] = []

  /// Creates a set of texts.
  public init(arrayLiteral texts: String...) {
    for text in texts { insert(text) }
  }

  /// The number of texts.
  public var count: Int { texts.values.reduce(0) { $0 + $1.count } }

  /// Adds a text. Texts of fewer than three bytes are ignored, because they would appear by chance.
  public mutating func insert(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count > 2 else { return }
    if isFirst.isEmpty { isFirst = Array(repeating: false, count: 256) }
    isFirst[Int(bytes[0])] = true
    texts[Self.start(bytes, 0), default: []].append(bytes)
  }

  /// Returns whether the given text contains any of the texts.
  public func appear(in text: String) -> Bool {
    guard !isFirst.isEmpty else { return false }
    let bytes = Array(text.utf8)
    for index in bytes.indices.dropLast(2) where isFirst[Int(bytes[index])] {
      for secret in texts[Self.start(bytes, index)] ?? [] {
        if bytes[index...].starts(with: secret) { return true }
      }
    }
    return false
  }

  private static func start(_ bytes: [UInt8], _ index: Int) -> UInt32 {
    UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
  }
}
