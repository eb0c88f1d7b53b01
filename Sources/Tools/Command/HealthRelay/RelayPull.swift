import CommandKit
import HealthRelay
import Holdfast
import LinkCore
import LinkJSON
import LinkRuntime
import LinkWire

/// `holdfast relay --pull`: answers the waiting questions in one short run.
enum RelayPull {
  static let wake = Parameter.optional(
    "wake", .text("WORD"),
    "register this word with the backend's push hook, which wakes the phone in the background; the "
      + "token that --pull needs is stored in the data directory until the relay ends")
  static let pull = Parameter.flag(
    "pull",
    "answer the questions that wait at the backend, then end, within 25 s: to be run by a push "
      + "hook; uses the pairing of the relay that ran with --wake and this data directory, and "
      + "needs the same --time-zone; prints counts only, also with --show-values")

  /// Runs once; returns the failure if questions remain.
  static func run(
    _ call: Invocation, _ configuration: RelayConfiguration, _ environment: RelayEnvironment,
    in directory: String
  ) async throws(CommandFailure) -> CommandFailure? {
    let token: Secret?
    do throws(StoreFailure) {
      token = try ResumeFile(in: directory).read()
    } catch {
      throw CommandFailure(error)
    }
    guard let token else { throw signedOut }
    let report = await HealthPull(configuration, token: token, environment: environment).run()
    if call[Shared.json] {
      JSONEvents(call.console).write("pull") { write(report, to: &$0) }
    } else {
      call.console.line(
        "answered \(report.answered), withdrawn \(report.unwanted), left \(report.left)")
    }
    return failure(of: report)
  }

  /// Returns what keeps the phone reachable, if `--wake` is given.
  static func waking(
    _ call: Invocation, _ configuration: RelayConfiguration, _ environment: RelayEnvironment,
    in directory: String
  ) -> RelayWake? {
    call[wake].map { word in
      RelayWake(
        word: word, file: ResumeFile(in: directory), configuration: configuration,
        environment: environment, complain: call.diagnostic)
    }
  }

  private static let signedOut = CommandFailure(
    .signInNeeded, "this phone is no longer paired",
    remedy: "run `holdfast relay --wake WORD` and pair again")

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
      CommandFailure(ExitCode(failure), LinkReason.text(failure).printable)
    }
  }

  private static func write(_ report: PullReport, to writer: inout JSONWriter) {
    writer.entry("answered", report.answered)
    writer.entry("unwanted", report.unwanted)
    writer.entry("left", report.left)
    writer.entry("ending", word(of: report.ending))
    if let again = report.again { writer.entry("again", again / .seconds(1)) }
  }

  private static func word(of ending: PullReport.Ending) -> String {
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

/// The registration that wakes a phone in the background: the token in the data directory and the
/// push address at the backend.
struct RelayWake: Sendable {
  let word: String
  let file: ResumeFile
  let configuration: RelayConfiguration
  let environment: RelayEnvironment
  /// Reports a failure.
  let complain: @Sendable (String) -> Void

  /// Stores the token of a new pairing and registers the push address with it.
  func paired(_ relay: Relay) async {
    guard let token = await relay.snapshot.resume else {
      return complain("this backend cannot wake the phone")
    }
    do throws(StoreFailure) {
      try file.write(token)
    } catch {
      complain(error.description)
    }
    let pull = HealthPull(configuration, token: token, environment: environment)
    do throws(LinkFailure) {
      try await pull.register(.hook(word))
    } catch {
      // A relay that is ending needs no registration.
      if Task.isCancelled { return }
      complain("the push address could not be registered: \(LinkReason.text(error))")
    }
  }

  /// Removes the token.
  func forget() {
    do throws(StoreFailure) {
      try file.write(nil)
    } catch {
      complain(error.description)
    }
  }
}
