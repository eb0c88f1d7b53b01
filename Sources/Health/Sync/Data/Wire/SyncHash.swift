/// The SHA-256 hash that identifies a record or a workout on a backend.
public struct SyncHash: Sendable, Hashable, Comparable, Codable {
  /// The 32 bytes as four big-endian words.
  package let words: SIMD4<UInt64>

  /// Creates a hash from its bytes. Returns `nil` unless there are 32.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    var words = SIMD4<UInt64>()
    for index in 0..<32 { words[index / 8] = words[index / 8] << 8 | UInt64(bytes[index]) }
    self.words = words
  }

  /// Creates a hash from its words in big-endian order.
  package init(words: SIMD4<UInt64>) { self.words = words }

  /// The 32 bytes.
  public var bytes: [UInt8] {
    (0..<32).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64(56 - $0 % 8 * 8)) }
  }

  /// Returns whether the bytes of one hash precede those of another in lexicographical order.
  public static func < (left: SyncHash, right: SyncHash) -> Bool {
    let (one, two) = (left.words, right.words)
    return (one[0], one[1], one[2], one[3]) < (two[0], two[1], two[2], two[3])
  }
}

extension SyncRecord {
  /// The text whose SHA-256 hash identifies the record. It contains the times as they were sent,
  /// and the value in the form that JavaScript uses.
  public var hashInput: [UInt8] {
    let said: [UInt8] =
      if let value {
        SyncNumber.text(value)
      } else {
        switch valueText {
        case .absent: Array("undefined".utf8)
        case .null: Array("null".utf8)
        case .text(let text): Array(text.utf8)
        }
      }
    return SyncHash.input([recordType, sourceName, start.text, end.text], said)
  }
}

extension SyncWorkout {
  /// The text whose SHA-256 hash identifies the workout.
  public var hashInput: [UInt8] {
    SyncHash.input(
      [workoutType, sourceName, start.text, end.text], SyncNumber.text(durationSeconds))
  }
}

extension SyncHash {
  /// Returns the texts, each followed by a vertical bar, and then `last`.
  fileprivate static func input(_ texts: [String], _ last: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(160)
    for text in texts {
      bytes.append(contentsOf: text.utf8)
      bytes.append(UInt8(ascii: "|"))
    }
    bytes.append(contentsOf: last)
    return bytes
  }
}
