/// The reason why a question is refused, with a description for the assistant and its user.
enum AnswerRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// A statistic was requested without a grouping.
  case statisticAlone
  /// A sum of readings was requested. Readings cannot be added.
  case cannotAdd(types: [String])
  /// A statistic that compares days or nights was requested by the hour.
  case needsDays(types: [String], HealthStatistic)
  case startAfterEnd
  case startInFuture
  /// A time is outside the years 1900 to 2199. These limits are Holdfast's own. They keep all
  /// arithmetic far from overflow.
  case outOfRange
  /// The data of a single instant exceeds the size limit of an answer.
  case tooMuchAtOnce
  /// The question covers more days than one answer can combine.
  case tooManyDays
  /// A sum exceeds 1.8e308, so that both `null` and the largest number would be wrong.
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
    case .tooManyDays: "more days than one answer can combine; ask for a shorter time"
    case .sumTooLarge:
      "the samples add up to more than a number can hold, so some of them are wrong; ask for the "
        + "samples themselves, or for a time without them"
    case .unreadable(let reason): "the phone's health data cannot be read: \(reason)"
    }
  }
}

extension AnswerRefusal {
  /// Returns one refusal with the types of both, or `nil` if anything else differs.
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

  /// The strings, joined as a list within a sentence.
  fileprivate var listed: String {
    guard let last, count > 1 else { return first ?? "" }
    return dropLast().joined(separator: ", ") + " and " + last
  }
}

/// The size limits of an answer, and options for reading its data.
public struct AnswerLimits: Sendable, Hashable, Codable {
  /// The maximum size of the answer's JSON object, in bytes.
  public var maxBytes: Int
  /// The maximum number of samples in one page.
  public var pageLimit: Int
  /// The maximum time span of one read. The default is 75 days.
  public var batch: Duration
  /// Whether numbers are not rounded and workouts contain no heart rates. This suits programs that
  /// calculate with an answer rather than assistants that read it.
  public var isExact: Bool

  /// Creates limits. The defaults are those of a plain backend.
  public init(
    maxBytes: Int = 199_000, pageLimit: Int = 5_000, batch: Duration = .seconds(75 * 86_400),
    isExact: Bool = false
  ) {
    self.maxBytes = maxBytes
    self.pageLimit = pageLimit
    self.batch = batch
    self.isExact = isExact
  }

  /// The default maximum size of an answer without a statistic: about 200 samples, which a language
  /// model can read at once.
  public static let rawBytes = 32_768

  /// The default maximum size of all other answers. An event of 1 MB contains the answer twice: as
  /// an object, and as text in which each quotation mark is escaped.
  public static let groupedBytes = 400_000

  /// The limits for one frame of 200,000 bytes. There is room for the fields around the object.
  public static let oneFrame = AnswerLimits()
  /// The limits of an answer that a backend joins from parts.
  public static let parts = AnswerLimits(maxBytes: 8 << 20)
  /// The limits of an answer that a backend joins from parts for a program.
  public static let exact = AnswerLimits(maxBytes: 8 << 20, isExact: true)
}
