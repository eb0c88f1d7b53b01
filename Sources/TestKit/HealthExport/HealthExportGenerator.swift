public import LinkCore

/// Makes an export that looks like a phone's, of any length, the same for the same plan.
///
/// A watch and a phone that count the same steps, sleep by stages, heartbeats with motion, beats of
/// variability, blood pressure and meals as correlations, workouts with statistics, days of 23 and
/// 25 hours. No data of anybody is in it.
public struct HealthExportGenerator: Sendable {
  /// What to make.
  public struct Plan: Sendable, Hashable {
    /// Another seed is another person.
    public var seed: UInt64
    /// The first day, counted from 1970-01-01.
    public var firstDay: Int
    /// How many days.
    public var days: Int
    /// How many readings there are, beside what a watch makes by itself.
    public var density: Double

    public init(seed: UInt64, firstDay: Int, days: Int, density: Double = 1) {
      self.seed = seed
      self.firstDay = firstDay
      self.days = max(days, 0)
      self.density = density
    }

    /// As many years up to and without the day of `end`.
    public init(seed: UInt64, years: Int, until end: Timestamp) {
      let day = Int(end.nanoseconds / 86_400_000_000_000)
      let days = Int((Double(years) * 365.2425).rounded())
      self.init(seed: seed, firstDay: day - days, days: days)
    }

    /// The first of the days that tell how long a day is: 2025-07-06.
    private static let typicalDay = 20_275

    /// With so many more or fewer readings that the file comes to about `bytes`.
    public func sized(_ bytes: Int) -> Plan {
      guard days > 0 else { return self }
      // A hundredth of the days tells how long one is; always the same ones, so that a later export
      // of the same person has the same days. Twice on the line through the last two tries, since
      // stretches of time become fewer but not shorter.
      func size(_ density: Double) -> Double {
        var part = self
        part.density = density
        part.days = min(days, max(7, days / 100))
        part.firstDay = Self.typicalDay
        var generator = HealthExportGenerator(part)
        var count = 0
        while let chunk = generator.next() { count += chunk.count }
        return Double(count) / Double(part.days) * Double(days)
      }
      var (one, two) = ((at: 1.0, size: size(1)), (at: 2.0, size: size(2)))
      for _ in 0..<3 {
        let slope = max((two.size - one.size) / (two.at - one.at), 1)
        let next = min(1_000, max(0.02, two.at + (Double(bytes) - two.size) / slope))
        guard abs(next - two.at) > 0.001 else { break }
        (one, two) = (two, (at: next, size: size(next)))
      }
      var plan = self
      plan.density = two.at
      return plan
    }
  }

  private let plan: Plan
  private var writer: ExportWriter
  private var section = -1
  private var day = 0

  public init(_ plan: Plan) {
    self.plan = plan
    let last = plan.firstDay + plan.days
    var chance = Chance(seed: plan.seed &+ UInt64(bitPattern: Int64(last)))
    writer = ExportWriter(
      offset: GeneratedDay.offset(at: last * 86_400), pointer: 0x2_8000_0000 | chance.next() >> 36)
  }

  /// How far it is, from 0 to 1.
  public var progress: Double {
    let sections = Double(GeneratedSection.allCases.count)
    return min(1, (Double(max(section, 0)) + Double(day) / Double(max(plan.days, 1))) / sections)
  }

  /// The next bytes; `nil` at the end.
  public mutating func next() -> [UInt8]? {
    guard section <= GeneratedSection.allCases.count else { return nil }
    if section < 0 {
      begin()
      section = 0
    }
    while section < GeneratedSection.allCases.count, writer.bytes.count < 64 << 10 {
      guard day < plan.days else {
        section += 1
        day = 0
        continue
      }
      GeneratedSection.allCases[section].write(
        GeneratedDay(plan.firstDay + day, seed: plan.seed), plan.density, to: &writer)
      day += 1
    }
    if section == GeneratedSection.allCases.count {
      writer.text("</HealthData>\n")
      section += 1
    }
    return writer.take()
  }

  private mutating func begin() {
    writer.text(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE HealthData [
      <!-- HealthKit Export Version: 14 -->
      <!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout|ActivitySummary)*)>
      <!ATTLIST HealthData locale CDATA #REQUIRED>
      <!ELEMENT Record ((MetadataEntry|HeartRateVariabilityMetadataList)*)>
      <!ATTLIST Record type CDATA #REQUIRED unit CDATA #IMPLIED value CDATA #IMPLIED>
      <!-- The records inside a correlation stand outside of it as well. -->
      ]>
      <HealthData locale="en_CH">
       <ExportDate
      """)
    writer.date("value", (plan.firstDay + plan.days) * 86_400 + 30_000)
    writer.text(
      "/>\n <Me HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexNotSet\"/>\n")
  }
}
