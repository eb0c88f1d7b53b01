/// Why there is no answer, in words for the assistant and the person behind it.
enum AnswerRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  case statisticMissing
  case startAfterEnd
  case startInFuture
  /// Outside the years 1900 to 2199; the bounds are ours and keep all arithmetic far from its ends.
  case outOfRange
  /// Not even the first moment's points fit an answer.
  case tooMuchAtOnce
  /// A sum beyond 1.8e308: neither `null` nor the largest number would be the truth.
  case sumTooLarge
  /// The store could not be read.
  case unreadable(reason: String)

  var description: String {
    switch self {
    case .statisticMissing: "statistic (SUM or AVERAGE) is needed with group_by"
    case .startAfterEnd: "start_time is after end_time"
    case .startInFuture: "start_time is in the future"
    case .outOfRange: "start_time and end_time must be within the years 1900 to 2199"
    case .tooMuchAtOnce: "more at one time than an answer can hold; ask with group_by"
    case .sumTooLarge: "the samples add up to more than a number can hold; ask without group_by"
    case .unreadable(let reason): "the phone's health data cannot be read: \(reason)"
    }
  }
}

/// How much an answer may hold, and how it is read.
public struct AnswerLimits: Sendable, Hashable, Codable {
  /// Bytes of the answer's object.
  public var maxBytes: Int
  /// Samples of one page.
  public var pageLimit: Int
  /// The longest span that is read at once; the original's 75 days.
  public var batch: Duration

  /// Limits; a plain backend's by default.
  public init(
    maxBytes: Int = 199_000, pageLimit: Int = 5_000, batch: Duration = .seconds(75 * 86_400)
  ) {
    self.maxBytes = maxBytes
    self.pageLimit = pageLimit
    self.batch = batch
  }

  /// One frame of 200,000 bytes, with room for what stands around the object.
  public static let oneFrame = AnswerLimits()
  /// What a backend puts together from parts.
  public static let parts = AnswerLimits(maxBytes: 8 << 20)
}
