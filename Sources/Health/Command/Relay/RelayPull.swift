import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealthRelay
import HoldfastJSON

/// The command `holdfast relay --pull`: answers the waiting questions in a short run.
enum RelayPull {
  static let wake = Parameter.optional(
    "wake", .text("WORD"),
    "register this word with the backend's push hook, which wakes the phone in the background; the "
      + "pairing is kept when a signal ends the relay, for --pull and for the next run")
  static let fresh = Parameter.flag(
    "new-pairing", "end the pairing that an earlier run kept in the data directory")
  static let pull = Parameter.flag(
    "pull",
    "answer the questions that wait at the backend, then end, within 25 s: to be run by a push "
      + "hook; uses the pairing of the relay that ran with --wake and this data directory, and "
      + "needs the same --time-zone; prints counts only, also with --show-values")

  /// Runs once. Returns a failure if questions remain.
  static func run(
    _ call: Invocation, _ configuration: RelayConfiguration, in directory: String
  ) async throws(CommandFailure) -> CommandFailure? {
    let token = try await CommandFailure.catching { () throws(StoreFailure) in
      try PairingStore(in: directory, ports: configuration.ports).read()
    }
    guard let token else { throw signedOut }
    let pull = try await CommandFailure.opening { () throws(OpenError) in
      try HealthPull(configuration, token: token)
    }
    let report = await pull.run()
    if call[Shared.json] {
      JSONEvents(call.console).write("pull") { write(report, to: &$0) }
    } else {
      call.console.line(
        "answered \(report.answered), withdrawn \(report.unwanted), left \(report.left)")
    }
    return failure(of: report)
  }

  static let signedOut = CommandFailure(
    .signInNeeded, "this phone is not paired, or no longer",
    remedy: "run `holdfast relay` with this --data directory and pair it")

  private static func failure(of report: PullReport) -> CommandFailure? {
    switch report.ending {
    case .finished:
      report.left == 0 ? nil : CommandFailure(.failed, "\(report.left) questions were not answered")
    case .outOfTime:
      CommandFailure(.failed, "the time limit came before all questions were answered")
    case .cancelled: CommandFailure(.failed, "a signal ended it")
    case .signedOut: signedOut
    case .unsupported: CommandFailure(.failed, "this backend does not support --pull")
    case .failed(let failure):
      CommandFailure(ExitCode(failure), failure.description.printable)
    }
  }

  private static func write(_ report: PullReport, to writer: inout JSONWriter) {
    writer.entry("answered", report.answered)
    writer.entry("unwanted", report.unwanted)
    writer.entry("left", report.left)
    writer.entry("ending", name(of: report.ending))
    if let again = report.again { writer.entry("again", again / .seconds(1)) }
  }

  private static func name(of ending: PullReport.Ending) -> String {
    switch ending {
    case .finished: "finished"
    case .outOfTime: "outOfTime"
    case .cancelled: "cancelled"
    case .signedOut: "signedOut"
    case .unsupported: "unsupported"
    case .failed: "failed"
    }
  }
}
