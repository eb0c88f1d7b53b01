public import HoldfastCore

/// A generator of exports of any length that resemble an iPhone's. Equal plans give equal exports.
///
/// In an export, a watch and a phone count the same steps. The export also contains sleep stages,
/// heart rates with motion, single beats of heart rate variability, blood pressure and meals as
/// correlations, workouts with statistics, and days of 23 and 25 hours. All data is made up.
public struct HealthExportGenerator: Sendable {
  /// The parameters of an export.
  public struct Plan: Sendable, Hashable {
    /// The seed. A different seed produces the data of a different person.
    public var seed: UInt64
    /// The first day, as a number of days since 1970-01-01.
    public var firstDay: Int
    /// The number of days.
    public var days: Int
    /// The density of readings, relative to the default of 1. It also applies to readings that a
    /// watch takes by itself.
    public var density: Double

    public init(seed: UInt64, firstDay: Int, days: Int, density: Double = 1) {
      self.seed = seed
      self.firstDay = firstDay
      self.days = max(days, 0)
      self.density = density
    }

    /// Creates a plan of the given number of years. The last day is the day before `end`.
    public init(seed: UInt64, years: Int, until end: Timestamp) {
      let day = Int(end.nanoseconds / 86_400_000_000_000)
      let days = Int((Double(years) * 365.2425).rounded())
      self.init(seed: seed, firstDay: day - days, days: days)
    }

    /// The first day of the sample from which the size of a day is estimated: 2025-07-06.
    private static let typicalDay = 20_275

    /// Returns the plan with its density adjusted so that the file has about `bytes` bytes.
    public func sized(_ bytes: Int) -> Plan {
      guard days > 0 else { return self }
      // One percent of the days, at least a week, determines the size of a day. The sample always
      // begins on the same day, so that a later export of the same person has the same data on the
      // same days. The secant method is repeated, since a lower density gives fewer intervals but
      // not shorter ones.
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
    var generator = RandomSource(seed: plan.seed &+ UInt64(bitPattern: Int64(last)))
    writer = ExportWriter(
      offset: GeneratedDay.offset(at: last * 86_400),
      pointer: 0x2_8000_0000 | generator.next() >> 36)
  }

  /// The progress, from 0 to 1.
  public var progress: Double {
    let sections = Double(GeneratedSection.allCases.count)
    return min(1, (Double(max(section, 0)) + Double(day) / Double(max(plan.days, 1))) / sections)
  }

  /// Returns the next bytes of the export, or `nil` at the end.
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
