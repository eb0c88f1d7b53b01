import HoldfastCommandKit
import HoldfastCore
import HoldfastTestKit

/// The command `holdfast health generate`: writes a synthetic export of health data.
enum HealthGenerateCommand {
  private static let years = Parameter.option(
    "years", .integer("N", 1...50), default: 1, "the years of data")
  private static let seed = Parameter.option(
    "seed", .integer("S", 0...Int.max), default: 1, "the seed; each one is another person")
  private static let size = Parameter.optional(
    "size", Format.bytes, usual: "about 270 MB a year",
    "the approximate size of the file, reached by more or fewer readings")
  private static let until = Parameter.option(
    "until", .day, default: Timestamp(nanoseconds: 1_767_225_600_000_000_000),
    "the day of the export (UTC); the data end with the day before")
  private static let file = Parameter.operand(
    Format.text("FILE"), "the XML file to write; an existing file is replaced")

  static var command: Command {
    Command(
      "generate", "write a synthetic export of Apple Health",
      details: [
        """
        Contains a watch and a phone that overlap, sleep stages, workouts, heart rate variability \
        with single beats, blood pressure and meals as correlations, and daylight saving time in \
        Zurich. The same options write the same bytes. The data of a day depend only on the seed \
        and the day, and with --size also on the size and the years, so a later --until writes a \
        newer export of the same person.
        """
      ],
      examples: [
        .init("holdfast health generate --years 1 --seed 7 export.xml", "a year of data"),
        .init(
          "holdfast health generate --years 10 --size 1GB export.xml",
          "a large file, for benchmarks"),
      ],
      takes: years, seed, size, until, file, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    var plan = HealthExportGenerator.Plan(
      seed: UInt64(call[seed]), years: call[years], until: call[until])
    if let size = call[size] { plan = plan.sized(size) }
    let path = call[file]
    var generator = HealthExportGenerator(plan)
    let total = try TextFile.write(to: path) { generator.next() }
    call.console.line("\(path): \(HealthCommands.size(Double(total))), \(plan.days) days")
  }
}
