/// Why there is no answer, in words for the assistant and the person behind it.
enum AnswerRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// A statistic without spans to make it for.
  case statisticAlone
  /// A sum of readings.
  case cannotAdd(types: [String])
  /// A figure of days or nights, asked for by the hour.
  case needsDays(types: [String], HealthStatistic)
  case startAfterEnd
  case startInFuture
  /// Outside the years 1900 to 2199; the bounds are ours and keep all arithmetic far from its ends.
  case outOfRange
  /// Not even the first moment's points fit an answer.
  case tooMuchAtOnce
  /// More days than one answer can take together.
  case tooManyDays
  /// A sum beyond 1.8e308: neither `null` nor the largest number would be the truth.
  case sumTooLarge
  /// The store could not be read.
  case unreadable(reason: String)

  var description: String {
    switch self {
    case .statisticAlone:
      "statistic needs group_by: HOUR, DAY, WEEK, MONTH, or TOTAL for one number"
    case .cannotAdd(let types):
      "SUM does not apply to \(types.listed): these are readings, which cannot be added. Ask for "
        + "AVERAGE, MIN, MAX, COUNT or LATEST"
    case .needsDays(let types, let statistic):
      "\(statistic.rawValue) of \(types.listed) compares days or nights, so it needs group_by DAY, "
        + "WEEK, MONTH or TOTAL; by the hour ask for SUM, COUNT or LATEST"
    case .startAfterEnd: "start_time is after end_time"
    case .startInFuture: "start_time is in the future"
    case .outOfRange: "start_time and end_time must be within the years 1900 to 2199"
    case .tooMuchAtOnce: "more at one time than an answer can hold; ask with group_by"
    case .tooManyDays: "more days than one answer can take together; ask for a shorter time"
    case .sumTooLarge:
      "the samples add up to more than a number can hold, so some of them are wrong; ask for the "
        + "samples themselves, or for a time without them"
    case .unreadable(let reason): "the phone's health data cannot be read: \(reason)"
    }
  }
}

extension AnswerRefusal {
  /// The two as one, if they say the same of different types.
  func joined(with other: AnswerRefusal) -> AnswerRefusal? {
    if case .cannotAdd(let types) = self, case .cannotAdd(let more) = other {
      return .cannotAdd(types: types.adding(more))
    }
    if case .needsDays(let types, let asked) = self, case .needsDays(let more, asked) = other {
      return .needsDays(types: types.adding(more), asked)
    }
    return nil
  }
}

extension [String] {
  fileprivate func adding(_ more: [String]) -> [String] { self + more.filter { !contains($0) } }

  /// The words as a sentence lists them.
  fileprivate var listed: String {
    guard let last, count > 1 else { return first ?? "" }
    return dropLast().joined(separator: ", ") + " and " + last
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
  /// Whether numbers stay exact and workouts have no heart rates: for programs that calculate, not
  /// for assistants that read.
  public var isExact: Bool

  /// Limits; a plain backend's by default.
  public init(
    maxBytes: Int = 199_000, pageLimit: Int = 5_000, batch: Duration = .seconds(75 * 86_400),
    isExact: Bool = false
  ) {
    self.maxBytes = maxBytes
    self.pageLimit = pageLimit
    self.batch = batch
    self.isExact = isExact
  }

  /// The size of samples without a statistic unless the question allows more: about 200 samples,
  /// which a language model reads at once.
  public static let rawBytes = 32_768

  /// The size of all other answers unless the question allows more: what an event of 1 MB carries
  /// twice, as an object and as text, in which each quote is escaped.
  public static let groupedBytes = 400_000

  /// One frame of 200,000 bytes, with room for what stands around the object.
  public static let oneFrame = AnswerLimits()
  /// What a backend puts together from parts.
  public static let parts = AnswerLimits(maxBytes: 8 << 20)
  /// The same, for programs.
  public static let exact = AnswerLimits(maxBytes: 8 << 20, isExact: true)
}
