/// Two words and a code that pair an assistant with the phone that shows them.
///
/// More than 2,900 words, twice, and a million codes: a guess meets one phone's pair in one of more
/// than eight million million cases.
public struct RelayPair: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Six digits.
  public var code: String
  /// Two of `RelayWords.all`, joined by a hyphen; a text like the one word of the original.
  public var word: String

  /// A pair of these; nothing is checked.
  public init(code: String, word: String) {
    self.code = code
    self.word = word
  }

  /// Draws a pair; the generator must be a secure one wherever people use the pair.
  public init(using generator: inout some RandomNumberGenerator) {
    let number = Int.random(in: 0..<1_000_000, using: &generator)
    code = String(String(1_000_000 + number).dropFirst())
    word = Self.word(using: &generator) + "-" + Self.word(using: &generator)
  }

  private static func word(using generator: inout some RandomNumberGenerator) -> String {
    RelayWords.all[Int.random(in: 0..<RelayWords.all.count, using: &generator)]
  }

  /// Without the secret.
  public var description: String { "a pair" }

  /// What pairs are compared by: letter case, spaces and hyphens do not count.
  var digest: Digest { Digest(word: word, code: code) }

  /// The words and the code in a form of one length.
  struct Digest: Sendable {
    /// Each with a byte more, which is 1 when something did not fit.
    private static let (wordLength, codeLength) = (16, 6)

    private let bytes: SIMD32<UInt8>

    init(word: String, code: String) {
      let fields =
        Self.field(word, length: Self.wordLength) + Self.field(code, length: Self.codeLength)
      bytes = SIMD32(fields + [UInt8](repeating: 0, count: 32 - fields.count))
    }

    /// Whether both are of one pair.
    ///
    /// Takes the same time wherever they differ, so that nobody can guess one letter after the
    /// other.
    func isSame(as other: Digest) -> Bool {
      let difference = bytes ^ other.bytes
      return (0..<32).reduce(0) { $0 | difference[$1] } == 0
    }

    private static func field(_ text: String, length: Int) -> [UInt8] {
      // What people give is a few bytes; more than 64 of them cannot be meant.
      var kept: [UInt8] = []
      for byte in text.utf8.prefix(64) {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "-"): break
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): kept.append(byte | 0x20)
        case _: kept.append(byte)
        }
      }
      let overflow: UInt8 = kept.count > length || text.utf8.count > 64 ? 1 : 0
      kept = Array(kept.prefix(length))
      kept += [UInt8](repeating: 0, count: length - kept.count)
      return kept + [overflow]
    }
  }
}
