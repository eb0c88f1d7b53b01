import HoldfastCommandKit
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastWorlds

/// The command `holdfast-sim simulate bottle-cost`: shows the costs of a bottle's timers.
enum BottleCostCommand {
  private static let days = Parameter.option(
    "days", .integer("N", 1...10_000), default: 100, "the number of days to play for each plan")

  static var command: Command {
    Command(
      "bottle-cost", "see what the timers of a bottle cost in a day",
      details: [
        """
        Plays days of the bottle's world without faults: a person takes the bottle every half hour \
        for 16 hours, three out of four times to drink, and carries it about twice for 20 minutes. \
        The app is opened eight times for a minute and is otherwise suspended; its system takes 10 \
        to 60 s to notice an advertisement.
        """,
        """
        Prints the seconds of a day in which the bottle is awake, advertises and is connected, \
        those in which the phone scans, and the share of drinks that the phone stored within 2 \
        minutes. With --json there is one object for each plan: profile, days, \
        awake, advertising, connected, scanning, drinks, soon; the last two are sums.
        """,
      ],
      examples: [
        .init("holdfast-sim simulate bottle-cost", "the timers of plans 028, 034 and 035")
      ],
      takes: days, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    var table = Table("PLAN", "AWAKE S", "ADVERTISING S", "CONNECTED S", "PHONE SCANS S", "SOON")
    for profile in BottleDay.profiles {
      let all = (1...UInt64(call[days])).map { BottleDay.played(profile, seed: $0) }
      let sum = Sum(all)
      if call[Shared.json] {
        call.console.object { sum.write(to: &$0) }
      } else {
        table.row(
          "0\(profile)", "\(sum.awake)", "\(sum.advertising)", "\(sum.connected)",
          "\(sum.scanning)", "\(sum.soon * 100 / max(sum.drinks, 1)) %")
      }
    }
    if !call[Shared.json] {
      for line in table.lines(call.console.style) { call.console.line(line) }
    }
  }

  /// The totals over the days of one plan. The durations are daily means.
  private struct Sum {
    var profile: Int
    var days: Int
    var awake: Int
    var advertising: Int
    var connected: Int
    var scanning: Int
    var drinks: Int
    var soon: Int

    init(_ days: [BottleDay]) {
      func mean(_ path: KeyPath<BottleDay, Int>) -> Int {
        days.map { $0[keyPath: path] }.reduce(0, +) / max(days.count, 1)
      }
      profile = days.first?.profile ?? 0
      self.days = days.count
      (awake, advertising) = (mean(\.awake), mean(\.advertising))
      (connected, scanning) = (mean(\.connected), mean(\.scanning))
      drinks = days.map(\.drinks).reduce(0, +)
      soon = days.map(\.soon).reduce(0, +)
    }

    func write(to writer: inout JSONWriter) {
      let numbers = [
        ("profile", profile), ("days", days), ("awake", awake), ("advertising", advertising),
        ("connected", connected), ("scanning", scanning), ("drinks", drinks), ("soon", soon),
      ]
      for (name, number) in numbers {
        writer.key(name)
        writer.int(number)
      }
    }
  }
}
