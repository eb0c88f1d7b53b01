/// A pairing code: two words and six digits that pair an assistant with the phone that shows them.
///
/// Each of the two words is one of more than 2,900, and the digits are one of a million numbers. A
/// guess matches one phone's code with a probability of less than one in eight trillion.
public struct RelayPair: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The six digits.
  public var code: String
  /// Two words from `RelayWords.all`, joined by a hyphen. The original app uses one word.
  public var word: String

  /// Creates a pairing code without validation.
  public init(code: String, word: String) {
    self.code = code
    self.word = word
  }

  /// Creates a random pairing code. The generator must be secure unless the code is for a test.
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

  /// The form in which pairing codes are compared. It ignores letter case, spaces and hyphens.
  var digest: Digest { Digest(word: word, code: code) }

  /// The words and the digits in a form of fixed length.
  struct Digest: Sendable {
    /// The lengths of the fields. Each field is followed by one more byte, which is 1 if the text
    /// did not fit.
    private static let (wordLength, codeLength) = (16, 6)

    private let bytes: SIMD32<UInt8>

    init(word: String, code: String) {
      let fields =
        Self.field(word, length: Self.wordLength) + Self.field(code, length: Self.codeLength)
      bytes = SIMD32(fields + [UInt8](repeating: 0, count: 32 - fields.count))
    }

    /// Returns whether both digests belong to the same pairing code.
    ///
    /// The comparison always takes the same time, so that its duration does not help to guess a
    /// code letter by letter.
    func isSame(as other: Digest) -> Bool {
      let difference = bytes ^ other.bytes
      return (0..<32).reduce(0) { $0 | difference[$1] } == 0
    }

    private static func field(_ text: String, length: Int) -> [UInt8] {
      // Only 64 bytes are read, because a longer text cannot match.
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
