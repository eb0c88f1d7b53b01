/// Two words and a code that pair an assistant with the phone that shows them.
///
/// There are more than 2,900 words, used twice, and a million codes. A guess matches one phone's
/// pair with a probability of less than one in eight trillion.
public struct RelayPair: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The code, six digits.
  public var code: String
  /// Two words from `RelayWords.all`, joined by a hyphen; the original has one word.
  public var word: String

  /// Creates a pair without any check.
  public init(code: String, word: String) {
    self.code = code
    self.word = word
  }

  /// Creates a random pair. The generator must be secure wherever people use the pair.
  public init(using generator: inout some RandomNumberGenerator) {
    let number = Int.random(in: 0..<1_000_000, using: &generator)
    code = String(String(1_000_000 + number).dropFirst())
    word = Self.word(using: &generator) + "-" + Self.word(using: &generator)
  }

  private static func word(using generator: inout some RandomNumberGenerator) -> String {
    RelayWords.all[Int.random(in: 0..<RelayWords.all.count, using: &generator)]
  }

  /// A description without the secret.
  public var description: String { "a pair" }

  /// The form in which pairs are compared, ignoring letter case, spaces and hyphens.
  var digest: Digest { Digest(word: word, code: code) }

  /// The words and the code in a form of fixed length.
  struct Digest: Sendable {
    /// The lengths of the fields; each has one more byte, which is 1 if the text did not fit.
    private static let (wordLength, codeLength) = (16, 6)

    private let bytes: SIMD32<UInt8>

    init(word: String, code: String) {
      let fields =
        Self.field(word, length: Self.wordLength) + Self.field(code, length: Self.codeLength)
      bytes = SIMD32(fields + [UInt8](repeating: 0, count: 32 - fields.count))
    }

    /// Returns whether both are of the same pair.
    ///
    /// The comparison takes the same time wherever they differ, so that nobody can guess one letter
    /// after another.
    func isSame(as other: Digest) -> Bool {
      let difference = bytes ^ other.bytes
      return (0..<32).reduce(0) { $0 | difference[$1] } == 0
    }

    private static func field(_ text: String, length: Int) -> [UInt8] {
      // Real input is short; a text of more than 64 bytes cannot match.
      var stored: [UInt8] = []
      for byte in text.utf8.prefix(64) {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "-"): break
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): stored.append(byte | 0x20)
        case _: stored.append(byte)
        }
      }
      let overflow: UInt8 = stored.count > length || text.utf8.count > 64 ? 1 : 0
      stored = Array(stored.prefix(length))
      stored += [UInt8](repeating: 0, count: length - stored.count)
      return stored + [overflow]
    }
  }
}
