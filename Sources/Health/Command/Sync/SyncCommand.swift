import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastPorts
import HoldfastUploads
import Synchronization

/// The command `holdfast health sync`: sends stored samples to a server.
enum SyncCommand {
  private static let secretFile = Parameter.required(
    "secret-file", .text("FILE"), variable: "HOLDFAST_SYNC_SECRET_FILE",
    "a file that contains the secret alone; read again when the server refuses the secret")
  private static let types = Parameter.optional(
    "types", Format.text("TYPE").list(),
    usual: "StepCount, HeartRate, ActiveEnergyBurned, BodyMass, VO2Max, SleepAnalysis, Workout",
    "sync these types, by HealthKit's identifiers or their ends")
  private static let once = Parameter.flag(
    "once",
    "end when everything is sent: with 0, or with 1 if batches are quarantined; with 3 if the server "
      + "refuses the secret; with 6 if it cannot be reached, or cannot serve, in all tries of "
      + "retry.first, which is the schedule after an outage too unless retry.reconnect is set")
  private static let watch = Parameter.optional(
    "watch", .text("EXPORT"),
    "import this export of Apple Health first, and again whenever the file changes")

  private static let resumeFrom = Parameter.option(
    "resume-from", .integer("BYTES", 1...1 << 30), default: ResumableUpload.usualLeast,
    "interrupted uploads of at least this many bytes resume, if the server supports it")

  static var command: Command {
    Command(
      "sync", "send stored samples to a server",
      details: [
        """
        The first sync of a type sends the samples of the last 30 days before the newest export; \
        from then on it sends what imports add and remove, whatever its date. A sample is removed \
        from the server when it is removed here: when a newer export covers its type and time and \
        does not contain it. Samples are packed into batches of at most 1,000, which are stored \
        before they are sent, in order for each type, until the server has accepted them: also \
        after a kill, a restart of the server, or an answer that was lost. With another server, \
        another person's secret, or a server that was put back to a backup, all that was sent is \
        read and sent again. One process at a time \
        syncs a data directory. \(LinkRun.details(onHangup: "tries again at once"))
        """,
        """
        Refused connections, lost answers, 429, 5xx, and answers that say `"success":false` are \
        tried again by the policy health-sync; \
        Retry-After is obeyed. 413 divides a batch. 401 pauses until the file, which is read every \
        minute then, contains another secret. A batch that is refused with another 4xx is quarantined: \
        it stays, the next ones are sent, and `health retry` sends it again. Queued batches are \
        sent whatever --types says. Bodies are compressed if the server offers gzip \
        in its answer to GET /api/sync. A large upload that was cut goes on where it ended, also \
        after a kill, if the server's answer to OPTIONS /api/sync offers resumable uploads \
        (draft-ietf-httpbis-resumable-upload, or tus 1.0). --set takes the keys of the policy that \
        begin with retry.
        """,
        SyncView.details,
      ],
      examples: [
        .init(
          "holdfast health sync --server http://127.0.0.1:8787 --secret-file secret --once",
          "send what was imported, and end"),
        .init(
          "holdfast health sync --server https://health.example --secret-file secret "
            + "--watch export.zip --types StepCount,HeartRate",
          "follow an export that is replaced from time to time"),
      ],
      signals: LinkRun.signals,
      takes: Connection.server, secretFile, Shared.data, types, once, watch, resumeFrom,
      Connection.authorities, Connection.plaintext, Connection.proxy, Shared.settings,
      Shared.journal, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let call = call.promising(call[once])
    let address = try Connection.address(call)
    let secret = try SecretFile(call[secretFile], option: "--secret-file", "secret")
    let policy = try policy(call)
    let directory = try call.dataDirectory()
    let network = try Connection.network(call, to: address)
    let stores = try await CommandFailure.catching { () throws(StoreFailure) in
      try await SyncStores(in: directory, writesHealth: call[watch] != nil)
    }
    let failure: CommandFailure?
    do throws(CommandFailure) {
      let types = try await SyncTypeNames.types(call[types], in: stores.health)
      var configuration = SyncConfiguration(
        address.url, source: StoredHealthSource(stores.health), storage: .store(stores.queue),
        directory: directory, tokens: secret.source)
      (configuration.types, configuration.policy) = (types, policy)
      configuration.deviceID = try await CommandFailure.catching { () throws(StoreFailure) in
        try HoldfastPlatform.phoneName(in: directory).description.uppercased()
      }
      configuration.journal = call[Shared.journal]
      configuration.ports.network = network
      configuration.ports.reachability = PathPipe.named(by: call)
      configuration.allowsPlaintext = call[Connection.plaintext]
      configuration.resumesFrom = call[resumeFrom]
      failure = try await follow(call, configuration, stores.health)
    } catch {
      failure = error
    }
    await stores.close()
    if let failure { throw failure }
  }

  /// Returns the policy of a run.
  ///
  /// With `--once`, the schedule for the first connection also applies after an outage, unless the
  /// user sets `retry.reconnect`. A run that is meant to end must not wait for hours.
  private static func policy(_ call: Invocation) throws(CommandFailure) -> LinkPolicy {
    let policy = try LinkPolicy.healthSync.with(call[Shared.settings])
    guard call[once], !call[Shared.settings].contains(where: { $0.key == "retry.reconnect" }),
      let first = policy.values.first(where: { $0.key == "retry.first" })
    else { return policy }
    return try policy.with([Setting(key: "retry.reconnect", value: first.value)])
  }

  private static func follow(
    _ call: Invocation, _ configuration: SyncConfiguration, _ health: any HealthStore
  ) async throws(CommandFailure) -> CommandFailure? {
    let run = LinkRun(call)
    let view = SyncView(call)
    let exports = call[watch].map { path in
      ExportWatch(path, into: .open(health)) { await view.note($0, $1) }
    }
    let progress = try await exports?.first(isRequired: call[once])
    var configuration = configuration
    configuration.ports.lifecycle = run.lifecycle
    let sync = try await CommandFailure.opening { () throws(OpenError) in
      try await SampleSync(configuration) { call.diagnostic($0.description) }
    }
    let work = OnceWork(isDone: false)
    let reached = Reached()
    await run.follow(
      stopped: { work.end(.stopped) }, close: { await sync.close() }
    ) { group, end in
      if call[once] {
        group.addTask {
          await sync.waitUntil { $0.state != .working }
          let state = await sync.snapshot.state
          reached.state.withLock { $0 = state }
          work.end(.done)
          await end()
        }
      } else if let exports, let progress {
        group.addTask { await exports.run(after: progress) }
      }
      for await update in sync { await view.show(update) }
    }
    for await update in sync { await view.show(update) }
    await view.end()
    guard call[once] else { return nil }
    if work.isStopped { return .stopped("everything was sent") }
    return reached.state.withLock { $0 }.failure
  }
}

/// The latest state of a sync with `--once`.
private final class Reached: Sendable {
  let state = Mutex(SyncState.working)
}

/// The stores of a sync: the store of the samples and the store of the queue.
struct SyncStores: Sendable {
  let health: any HealthStore
  let queue: any SyncQueueStore

  init(in directory: String, writesHealth: Bool) async throws(StoreFailure) {
    // The queue is opened first, so that a second process fails before it changes anything.
    queue = try await HoldfastPlatform.syncQueue(in: directory)
    do throws(StoreFailure) {
      health =
        writesHealth
        ? try await HoldfastPlatform.healthStore(in: directory)
        : try await HoldfastPlatform.readableHealthStore(in: directory)
    } catch {
      await queue.close()
      throw error
    }
  }

  func close() async {
    await queue.close()
    await health.close()
  }
}

extension SyncState {
  /// The failure for a command that was to send everything; `nil` if it sent everything.
  fileprivate var failure: CommandFailure? {
    switch self {
    case .done(quarantined: 0): return nil
    case .done(let quarantined):
      return CommandFailure(
        .failed,
        quarantined == 1 ? "a batch is quarantined" : "\(quarantined) batches are quarantined",
        remedy: "`holdfast health status` says why; `holdfast health retry` sends them again")
    case .secretRefused:
      return CommandFailure(
        .signInNeeded, "the server refuses the secret", remedy: "check the file of --secret-file")
    case .unreachable(let failure):
      guard ExitCode(failure) != .security else { return CommandFailure(failure) }
      return CommandFailure(
        .unreachable, SyncNotice.unreachable(failure).description.printable,
        remedy: "what was not sent waits; run it again later")
    case .unreadable(let failure):
      return CommandFailure(
        .failed, "the samples cannot be read: \(failure.description)", remedy: "run it again")
    case .unwritable(let failure): return CommandFailure(failure)
    case .working: return CommandFailure(.failed, "ended before everything was sent")
    }
  }
}
