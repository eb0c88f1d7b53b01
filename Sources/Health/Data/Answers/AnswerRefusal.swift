/// The reason why a question is refused, with a description for the assistant and its user.
enum AnswerRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// A statistic was requested without a grouping.
  case statisticAlone
  /// A sum of readings was requested. Readings cannot be added.
  case cannotAdd(types: [String])
  /// A statistic that compares days or nights was requested by the hour.
  case needsDays(types: [String], HealthStatistic)
  /// An option or a part of all days does not go together with the rest of the question.
  case option(OptionRefusal)
  /// A statistic other than a count was requested of events, which have no number.
  case onlyCounted(types: [String])
  /// The word stands for no type that is known or stored.
  case unknownWord(String, nearest: [String])
  /// The span of a comparison is refused.
  indirect case comparison(AnswerRefusal)
  case startAfterEnd
  case startInFuture
  /// A time is outside the years 1900 to 2199. These limits are Holdfast's own. They keep all
  /// arithmetic far from overflow.
  case outOfRange
  /// The data of a single instant exceeds the size limit of an answer.
  case tooMuchAtOnce
  /// The question covers more days than one answer can combine.
  case tooManyDays
  /// The answer exceeds its size limit, and cannot be cut at an instant.
  case tooLong
  /// A sum exceeds 1.8e308, so that both `null` and the largest number would be wrong.
  case sumTooLarge
  /// The store could not be read.
  case unreadable(reason: String)

  var description: String {
    switch self {
    case .statisticAlone:
      "statistic needs group_by: HOUR, DAY, WEEK, MONTH, YEAR, WEEKDAY, WEEKPART, HOUR_OF_DAY, or "
        + "TOTAL for one number"
    case .cannotAdd(let types):
      "SUM does not apply to \(types.listed): these are readings, which cannot be added. Ask for "
        + "AVERAGE, MIN, MAX, COUNT or LATEST"
    case .needsDays(let types, let statistic):
      "\(statistic.rawValue) of \(types.listed) compares days or nights, so it needs group_by DAY, "
        + "WEEK, MONTH, YEAR, WEEKDAY, WEEKPART or TOTAL; by the hour ask for SUM, COUNT or LATEST"
    case .option(let refusal): refusal.description
    case .comparison(let refusal): "compare_with: \(refusal)"
    case .onlyCounted(let types):
      "\(types.listed): these are events without a number. Ask for COUNT, for SUM, which is their "
        + "length in minutes, or for LATEST"
    case .unknownWord(let word, let nearest):
      "\(word) is no kind of data that is known or stored here. The nearest "
        + "\(nearest.count == 1 ? "word is" : "words are") \(nearest.joined(separator: ", ")); "
        + "list_health_types names all that have data"
    case .startAfterEnd: "start_time is after end_time"
    case .startInFuture: "start_time is in the future"
    case .outOfRange: "start_time and end_time must be within the years 1900 to 2199"
    case .tooMuchAtOnce: "more at one time than an answer can hold; ask with group_by"
    case .tooManyDays: "more days than one answer can combine; ask for a shorter time"
    case .tooLong:
      "more than an answer can hold; ask with format TABLE, without by_source, with a larger "
        + "group_by or with a larger max_bytes"
    case .sumTooLarge:
      "the samples add up to more than a number can hold, so some of them are wrong; ask for the "
        + "samples themselves, or for a time without them"
    case .unreadable(let reason): "the health data cannot be read: \(reason)"
    }
  }
}

/// The reason why an option, or a part of all days, does not go together with the rest of a
/// question.
enum OptionRefusal: Sendable, Hashable, CustomStringConvertible {
  /// Sleep was requested by the hour of the day.
  case sleepHasNoHours
  /// A statistic that compares days was requested by the hour of the day.
  case daysHaveNoHours(type: String)
  /// A trend was requested of points that do not follow each other.
  case trendNeedsSeries
  /// A comparison was requested of single samples.
  case comparisonAlone
  /// The last value before the end was requested together with another statistic or grouping.
  case nearestIsLatest
  /// The last value before the end was requested together with another option.
  case nearestAlone
  /// A kind of workout was requested for another value type.
  case notWorkouts

  var description: String {
    switch self {
    case .sleepHasNoHours:
      "SLEEP belongs to the day on which a night ends, so it has no hours of the day; ask with "
        + "group_by WEEKDAY, WEEKPART or DAY"
    case .daysHaveNoHours(let type):
      "MIN and MAX of \(type) compare days, so they have no hours of the day; with HOUR_OF_DAY ask "
        + "for AVERAGE, SUM, COUNT or LATEST"
    case .trendNeedsSeries:
      "trend needs points that follow each other: group_by HOUR, DAY, WEEK, MONTH or YEAR"
    case .comparisonAlone:
      "compare_with needs group_by: TOTAL compares the two spans as a whole, DAY, WEEK, MONTH and "
        + "YEAR their first, second and further days and so on, WEEKDAY their Mondays and so on"
    case .nearestIsLatest:
      "nearest gives the last value before end_time: leave out group_by and statistic, or give "
        + "TOTAL and LATEST"
    case .nearestAlone: "nearest gives one value, so it takes neither trend nor compare_with"
    case .notWorkouts: "workout_type applies to value_type WORKOUT only"
    }
  }
}

extension AnswerRefusal {
  /// Returns one refusal with the types of both, or `nil` if anything else differs.
  func joined(with other: AnswerRefusal) -> AnswerRefusal? {
    if case .onlyCounted(let types) = self, case .onlyCounted(let more) = other {
      return .onlyCounted(types: types.adding(more))
    }
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

  /// The default maximum size of an answer: about 150 points, or 400 to 1,200 rows of a table,
  /// which a language model can read at once.
  public static let usualBytes = 32_768

  /// The limits for one frame of 200,000 bytes. There is room for the fields around the object.
  public static let oneFrame = AnswerLimits()
  /// The limits of an answer that a backend joins from parts.
  public static let parts = AnswerLimits(maxBytes: 8 << 20)
  /// The limits of an answer that a backend joins from parts for a program.
  public static let exact = AnswerLimits(maxBytes: 8 << 20, isExact: true)
}
