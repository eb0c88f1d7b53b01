import Foundation
import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthRelay

/// The command `holdfast relay`: lets a paired assistant request health data.
package enum RelayCommand {
  private static let profile = Parameter.option(
    "profile", Format<RelayProfile>.choice, default: .service,
    "service keeps running in the background and ends after 15 minutes without a question; quick "
      + "does so too and retries a lost connection only twice, 2 s apart; foreground "
      + "disconnects in the background and waits for SIGHUP in the foreground")
  private static let zone = Parameter.optional(
    "time-zone", .timeZone, usual: "this machine's",
    "the time zone in which days begin, such as Europe/Berlin")
  private static let values = Parameter.flag(
    "show-values", "print the answers, not only how many points they contain")
  private static let stay = Parameter.flag(
    "stay", "after an error or 15 idle minutes wait for SIGHUP to reconnect instead of ending")

  package static var command: Command {
    Command(
      "relay", "let an assistant ask for health data",
      details: [
        """
        Connects, prints a word and a code for the assistant, and answers its questions from the \
        health data in the data directory, which `health import` stores. \
        \(LinkRun.details(onHangup: "reconnects"))
        """,
        """
        A lost connection is retried for 75 s, as long as a backend may take to restart (with \
        another --profile: twice); then it ends with the status of the error. After 15 minutes \
        without a question it ends with status 0. The next run with this data directory keeps the \
        pairing, as long as the backend knows it; a signal ends the pairing, except with --wake and \
        --sync-secret-file. \
        It prints which questions were answered; the answers are printed only with --show-values.
        """,
        RelayNews.details,
      ],
      examples: [
        .init(
          "holdfast relay --server https://relay.example",
          "pair with any assistant that speaks MCP to that server"),
        .init(
          "holdfast relay --server http://127.0.0.1:8787 --data demo --time-zone Asia/Tokyo --json",
          "with `holdfast serve`, for a script"),
        .init(
          "holdfast relay --server http://127.0.0.1:8787 --data demo --pull",
          "answer the waiting questions and end, from a push hook"),
      ],
      signals: LinkRun.signals, commands: [RelayAssistants.command],
      takes: Connection.server, profile, zone, values, stay, RelayPull.wake, RelayPull.pull,
      RelayPull.fresh, RelayPairing.syncSecretFile,
      Shared.data, Connection.authorities, Connection.plaintext, Connection.proxy, Shared.settings,
      Shared.journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let address = try Connection.address(call)
    let network = try Connection.network(call, to: address)
    let directory = try call.dataDirectory()
    let (store, phone) = try await CommandFailure.catching { () throws(StoreFailure) in
      (
        try await HoldfastPlatform.readableHealthStore(in: directory),
        try HoldfastPlatform.phoneName(in: directory)
      )
    }
    var configuration = RelayConfiguration(
      server: address.url, phone: phone, zone: call.zoneRules(zone),
      profile: call[profile], storage: .store(store))
    configuration.settings.policy = try configuration.settings.policy.with(call[Shared.settings])
    configuration.journal = call[Shared.journal]
    if let stored = try? await store.summary(), stored.isEmpty {
      call.diagnostic(
        "\(directory) contains no health data, so every answer is empty; import some with "
          + "`holdfast health import`, or check --data")
    }
    configuration.notifier = HoldfastPlatform.notifier(
      application: "holdfast", otherwise: TextNotifier { call.report($0) })
    configuration.ports.network = network
    configuration.ports.reachability = PathPipe.named(by: call)
    configuration.allowsPlaintext = call[Connection.plaintext]
    try await store.closing { () throws(CommandFailure) in
      let failure =
        call[RelayPull.pull]
        ? try await RelayPull.run(call, configuration, in: directory)
        : try await follow(call, configuration, in: directory)
      if let failure { throw failure }
    }
  }

  /// Follows the relay until it ends. Returns `nil` if a signal ended the relay or it was idle.
  private static func follow(
    _ call: Invocation, _ configuration: RelayConfiguration, in directory: String
  ) async throws(CommandFailure) -> CommandFailure? {
    let run = LinkRun(call)
    var configuration = configuration
    configuration.ports.lifecycle = run.lifecycle
    let shown = ShownAnswers(
      isWanted: call[values], mcp: configuration.assistants,
      assistants: RelayAssistants.line(call))
    if call[values] { configuration.watch = { shown.put($1, for: $0) } }
    let pairing = try RelayPairing(call, configuration, in: directory)
    let relay = try await CommandFailure.opening { () throws(OpenError) in
      try await Relay(configuration) { call.diagnostic($0.description) }
    }
    pairing.restore(relay, fresh: call[RelayPull.fresh])
    relay.start()
    let view = call.view(of: RelayNews.self)
    let ending = await run.follow(close: { await relay.close() }) { group, _ -> RelayEnding? in
      for await update in relay.lastingUpdates {
        await view.show(RelayNews(update, shown))
        if case .pair = update { group.addTask { await pairing.paired(relay) } }
        guard !call[stay], case .status(let status) = update, let end = RelayEnding(status) else {
          continue
        }
        return end
      }
      return nil
    }
    // If the relay did not end on its own, a signal ended it.
    pairing.ended(byUser: ending == nil)
    return ending?.failure
  }
}

/// The end of a relay that ended on its own.
struct RelayEnding {
  /// The failure to report; `nil` if the relay was idle.
  let failure: CommandFailure?

  /// Creates the end that a status causes. Returns `nil` while the relay is working or waiting for
  /// its user.
  init?(_ status: RelayStatus) {
    switch (status.state, status.reason) {
    case (.idle, .ended(.idle)): failure = nil
    case (.error, .exhausted(let cause)), (.error, .failure(let cause)):
      failure =
        cause.failureClass == .closedReplaced
        ? CommandFailure(
          .failed, "another connection of this phone replaced this one",
          remedy: "end the other one, or use a --data directory of its own for each")
        : CommandFailure(cause)
    case (.error, _): failure = CommandFailure(.failed, "the relay has ended")
    case (.idle, _), (.starting, _), (.running, _), (.reconnecting, _), (.stopping, _): return nil
    }
  }
}

extension Format<TimeZone> {
  /// The format for a time zone in the system's database.
  static let timeZone = Format(
    placeholder: "ZONE", expectation: "a time zone such as Europe/Berlin or UTC"
  ) {
    TimeZone(identifier: $0)
  } write: {
    $0.identifier
  }
}
