import CommandKit
import HealthRelay
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire

/// `holdfast relay --pull`: one short visit for the questions that wait.
enum RelayPull {
  static let wake = Parameter.optional(
    "wake", .text("WORD"),
    "let the backend's push hook ring this word while the phone is in background; keeps the token "
      + "that --pull needs in the data directory, until the relay is told to end")
  static let pull = Parameter.flag(
    "pull",
    "answer what waits at the backend and end, within 25 s: what a push starts; tells how many "
      + "were answered, with --show-values too; the pairing is that of the relay which ran with "
      + "--wake in this data directory; give its --time-zone too")

  /// Visits once; answers with what kept it from leaving nothing behind.
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
      StreamEvents(console: call.console).write("pull") { write(report, to: &$0) }
    } else {
      call.console.line(
        "answered \(report.answered), not wanted \(report.unwanted), left \(report.left)")
    }
    return failure(of: report)
  }

  /// Keeps the phone reachable, if that is asked for.
  static func waking(
    _ call: Invocation, _ configuration: RelayConfiguration, _ environment: RelayEnvironment,
    in directory: String
  ) -> RelayWake? {
    let console = call.console
    return call[wake].map { word in
      RelayWake(
        word: word, file: ResumeFile(in: directory), configuration: configuration,
        environment: environment, complain: { console.diagnostic("holdfast relay: \($0)") })
    }
  }

  private static let signedOut = CommandFailure(
    .signInNeeded, "this phone is not paired any more",
    remedy: "run holdfast relay --wake WORD and pair again")

  private static func failure(of report: PullReport) -> CommandFailure? {
    switch report.ending {
    case .finished:
      report.left == 0 ? nil : CommandFailure(.failed, "\(report.left) questions were left")
    case .outOfTime: CommandFailure(.failed, "the time was over before all was answered")
    case .cancelled: CommandFailure(.failed, "it was told to end")
    case .signedOut: signedOut
    case .unsupported: CommandFailure(.failed, "this backend knows no pulls")
    case .failed(let failure):
      CommandFailure(ExitCode(failure), StreamText.safe(StreamReason.text(failure)))
    }
  }

  private static func write(_ report: PullReport, to writer: inout JSONWriter) {
    for (name, count) in [
      ("answered", report.answered), ("unwanted", report.unwanted), ("left", report.left),
    ] {
      writer.key(name)
      writer.int(count)
    }
    writer.key("ending")
    writer.string(word(of: report.ending))
    if let again = report.again {
      writer.key("again")
      writer.double(again / .seconds(1))
    }
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

/// Keeps a relay's phone reachable while it is in background: its token here, its bell there.
struct RelayWake: Sendable {
  let word: String
  let file: ResumeFile
  let configuration: RelayConfiguration
  let environment: RelayEnvironment
  /// Is told what could not be done.
  let complain: @Sendable (String) -> Void

  /// Each pair comes with a new token, under which the bell is known from then on.
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
      // Told to end meanwhile, it needs no bell.
      if Task.isCancelled { return }
      complain("the bell could not be registered: \(StreamReason.text(error))")
    }
  }

  /// The pairing is over.
  func forget() {
    do throws(StoreFailure) {
      try file.write(nil)
    } catch {
      complain(error.description)
    }
  }
}
