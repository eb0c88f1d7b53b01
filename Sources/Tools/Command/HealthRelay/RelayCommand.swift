import CommandKit
import Foundation
import HealthRelay
import Holdfast
import LinkCore
import LinkRuntime
import LinkWire

/// `holdfast relay`: lets an assistant that was told a code ask for health data.
enum RelayCommand {
  private static let server = Parameter.required(
    "server", .text("URL"), "the backend, as https://HOST[:PORT], or http:// to this device")
  private static let profile = Parameter.option(
    "profile", .relayProfile, default: .service,
    "service stays in background and ends after 15 idle minutes; foreground disconnects in "
      + "background and waits for SIGHUP in front")
  private static let zone = Parameter.optional(
    "time-zone", .timeZone, usual: "this device's", "where days begin, such as Europe/Berlin")
  private static let values = Parameter.flag(
    "show-values", "show what the assistant is told, not only how much")
  private static let stay = Parameter.flag(
    "stay", "after an error or idleness wait for SIGHUP, which connects again, instead of ending")
  private static let journal = Parameter.optional(
    "journal", .text("FILE"),
    "record every decision there for `replay`; holds questions, never answers, codes or tokens; "
      + "an earlier journal is kept as FILE.old1, and so on")

  static var command: Command {
    Command(
      "relay", "let an assistant ask for health data",
      details: [
        """
        Connects, shows a word and a code to tell an assistant, and answers what it asks from the \
        health data in the data directory; `health import` fills that. SIGINT and SIGTERM end it \
        with 0, a second one at once. SIGUSR1 sends it to the background, SIGUSR2 back to the \
        foreground; SIGHUP connects again.
        """,
        """
        After two retries it ends with the status of its error; idle for 15 minutes, with 0. \
        Which questions were answered is shown, what they were answered only with --show-values.
        """,
        RelayEvents.details,
      ],
      examples: [
        .init(
          "holdfast relay --server https://relay.example",
          "pair with any assistant that speaks MCP to that server"),
        .init(
          "holdfast relay --server http://127.0.0.1:8787 --data demo --time-zone Asia/Tokyo --json",
          "against `holdfast serve`, for a script"),
        .init(
          "holdfast relay --server http://127.0.0.1:8787 --data demo --pull",
          "what a push hook runs: answer what waits, and end"),
      ],
      takes: server, profile, zone, values, stay, RelayPull.wake, RelayPull.pull, Shared.data,
      StreamConnection.authorities,
      StreamConnection.plaintext, StreamConnection.proxy, Shared.settings, journal, Shared.json,
      action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let address = try ServerAddress(call[server], allowsPlaintext: call[StreamConnection.plaintext])
    let network = try StreamConnection.network(call)
    let directory = try call.dataDirectory()
    let store: any HealthStore
    var configuration: RelayConfiguration
    do throws(StoreFailure) {
      store = try await Platform.readableHealthStore(in: directory)
      configuration = RelayConfiguration(
        server: address.url, device: try Platform.phoneName(in: directory),
        zone: ZoneRules(call[zone] ?? .current), profile: call[profile])
    } catch {
      throw CommandFailure(error)
    }
    configuration.settings.policy = try configuration.settings.policy.with(call[Shared.settings])
    configuration.journal = call[journal]
    let shown = ShownAnswers(isWanted: call[values])
    if call[values] { configuration.watch = { shown.put($1, for: $0) } }
    let view: any RelayView =
      call[Shared.json]
      ? RelayObjects(console: call.console, shown: shown)
      : RelayLines(console: call.console, shown: shown)
    if let kept = try? await store.summary(), kept.isEmpty {
      call.console.diagnostic(
        "holdfast relay: no health data is kept in \(directory), so every answer is empty; "
          + "fill it with holdfast health import, or check --data")
    }
    let failure: CommandFailure?
    do throws(CommandFailure) {
      let environment = RelayEnvironment(
        network: network, store: store,
        notifier: Platform.notifier(
          application: "holdfast", otherwise: TextNotifier { view.notify($0) }),
        reachability: Platform.reachability(of: address.host), lifecycle: AlwaysForeground())
      failure =
        call[RelayPull.pull]
        ? try await RelayPull.run(call, configuration, environment, in: directory)
        : try await follow(call, configuration, environment, view, in: directory)
    } catch {
      failure = error
    }
    await store.close()
    if let failure { throw failure }
  }

  /// Answers with what ended it, `nil` when it was told to end or is idle.
  private static func follow(
    _ call: Invocation, _ configuration: RelayConfiguration, _ environment: RelayEnvironment,
    _ view: any RelayView, in directory: String
  ) async throws(CommandFailure) -> CommandFailure? {
    // From here on no signal has its usual effect, which is to end the process.
    let signals = FollowSignals(stuck: stuck, hurry: hurry)
    var environment = environment
    environment.lifecycle = signals.lifecycle
    let wake = RelayPull.waking(call, configuration, environment, in: directory)
    let relay: Relay
    do throws(JournalError) {
      relay = try await Relay(configuration, environment: environment) { error in
        call.console.diagnostic("holdfast relay: \(error)")
      }
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    relay.start()
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { await end(relay, on: signals) }
      var ending: CommandFailure?
      for await update in relay {
        view.show(update)
        if case .pair = update, let wake { group.addTask { await wake.paired(relay) } }
        guard !call[stay], case .status(let status) = update, let end = RelayEnding(status) else {
          continue
        }
        ending = end.failure
        break
      }
      await relay.close()
      group.cancelAll()
      await group.waitForAll()
      wake?.forget()
      return ending
    }
  }

  private static func end(_ relay: Relay, on signals: FollowSignals) async {
    await signals.stop()
    await relay.close()
  }

  private static func hurry() -> Never {
    Console.abandon("holdfast relay: ended at once by a second signal")
  }

  private static func stuck() -> Never {
    Console.abandon("holdfast relay: nobody takes the output; ended without writing the rest of it")
  }
}

/// Why a relay has come to its end by itself.
struct RelayEnding {
  /// `nil` when all is well.
  let failure: CommandFailure?

  /// `nil` while it works, or waits for its user.
  init?(_ status: RelayStatus) {
    switch (status.state, status.reason) {
    case (.idle, .ended(.idle)): failure = nil
    case (.error, .exhausted(let cause)), (.error, .failure(let cause)):
      failure = Self.failure(cause)
    case (.error, _): failure = CommandFailure(.failed, "the relay has ended")
    case (.idle, _), (.starting, _), (.running, _), (.reconnecting, _), (.stopping, _): return nil
    }
  }

  private static func failure(_ failure: LinkFailure) -> CommandFailure {
    let reason = StreamText.safe(StreamReason.text(failure))
    let code = ExitCode(failure)
    return switch code {
    case .security:
      CommandFailure(
        code, "the server's identity is not proven (\(reason))",
        remedy: "check --server; --ca FILE adds an authority")
    case .unreachable:
      CommandFailure(
        code, "the server cannot be reached (\(reason))",
        remedy: "check --server and the network")
    case .done, .failed, .usage, .signInNeeded, .forbidden:
      failure.failureClass == .closedReplaced
        ? CommandFailure(
          .failed, "another connection of this phone took its place",
          remedy: "end the other one, or give this one a --data directory of its own")
        : CommandFailure(code, "the server refused: \(reason)")
    }
  }
}

extension Format<RelayProfile> {
  /// What hosts a relay.
  fileprivate static let relayProfile = {
    let words = RelayProfile.allCases.map(\.rawValue)
    return Format(
      placeholder: words.joined(separator: "|"), expectation: words.joined(separator: " or "),
      words: words
    ) {
      RelayProfile(rawValue: $0)
    } write: {
      $0.rawValue
    }
  }()
}

extension Format<TimeZone> {
  /// A zone of the system's time zone database.
  fileprivate static let timeZone = Format(
    placeholder: "ZONE", expectation: "a time zone such as Europe/Berlin or UTC"
  ) {
    TimeZone(identifier: $0)
  } write: {
    $0.identifier
  }
}
