import HoldfastCore
import HoldfastJSON
import HoldfastOperators
import HoldfastPorts
import HoldfastServerParts

/// The erasures of a backend, which are carried out one after the other.
///
/// An erasure is durable in the file `erasures` of the data directory before it counts as accepted.
/// It is tried until it succeeds, also after a restart.
actor AdminWork {
  private let executor = QueueExecutor(label: "holdfast.admin")
  private let file: PrivateFile
  private let log: BackendLog
  private var jobs: EraseJobs
  private var eraser: UserEraser?
  private var worker: Task<Void, Never>?

  /// The waits after which a failed erasure is tried again.
  private static let pauses = Schedule.doubling(from: .seconds(1), to: .seconds(60))

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Reads the erasures that were accepted before.
  ///
  /// - Throws: `.file` if the file is invalid.
  init(in directory: String, log: BackendLog) throws(BackendError) {
    file = PrivateFile(directory: directory, name: Self.fileName)
    self.log = log
    // They may name a user whose erasure a crash has interrupted.
    for name in [file.name, "removed.json", "removed-shared.json", "sync-secrets"] {
      PrivateFile(directory: directory, name: name).removeDrafts()
    }
    jobs = try Self.jobs(in: file)
  }

  /// The name of the file in the data directory.
  static let fileName = "erasures"

  /// Reads the erasures of a file; none if it is missing.
  ///
  /// - Throws: `.file` if the file is invalid.
  static func jobs(in file: PrivateFile) throws(BackendError) -> EraseJobs {
    guard let content = try file.read(isSecret: true) else { return EraseJobs() }
    do throws(FieldFault) {
      return try EraseJobs.decode(content)
    } catch {
      throw .file(path: file.path, detail: "\(error)")
    }
  }

  /// All erasures, in the order of their acceptance.
  var all: [EraseJob] { jobs.all }

  /// Accepts the erasure of a user.
  ///
  /// - Throws: The refusal if there are too many, or if the file cannot be written.
  func accept(_ user: String) throws(HTTPRefusal) -> EraseJob {
    var changed = jobs
    let job = try changed.accept(user, as: .random(), at: BootClock().wall)
    guard changed != jobs else { return job }
    do throws(BackendError) {
      try file.replace(with: changed.encode())
    } catch {
      log.note(.storeFailure, error.description)
      throw HTTPRefusal(
        503, "the erasure cannot be stored; check the disk of the data directory",
        retryAfter: .seconds(2))
    }
    jobs = changed
    work()
    return job
  }

  /// Ends the pairings and the sessions of a user at this node, which runs them.
  func eraseRoleHere(of user: String) async throws(StoreFailure) {
    guard let eraser else { throw .other(detail: "The backend is starting or stopping.") }
    guard try await eraser.role.eraseHere(user) else {
      throw .other(detail: "This node does not run the relay and sessions any more.")
    }
  }

  /// Begins to carry out what was accepted.
  func begin(with eraser: UserEraser) {
    self.eraser = eraser
    work()
  }

  /// Ends the work. What is not done is continued after the next start.
  func stop() async {
    eraser = nil
    let worker = worker
    worker?.cancel()
    await worker?.value
  }

  // MARK: - Carrying out

  private func work() {
    guard worker == nil, eraser != nil, jobs.next != nil else { return }
    worker = Task { await self.carryOutAll() }
  }

  private func carryOutAll() async {
    var failures = 0
    while !Task.isCancelled {
      let open = jobs.all.filter { !$0.isDone }
      guard !open.isEmpty else { break }
      var hasFailed = false
      for job in open {
        guard !Task.isCancelled, let eraser else { break }
        if await !carryOut(job, with: eraser) { hasFailed = true }
      }
      guard hasFailed else {
        failures = 0
        continue
      }
      failures += 1
      let pause = Self.pauses.wait(after: failures)
      try? await BootClock().wait(until: BootClock().now.advanced(by: pause))
    }
    worker = nil
    // A job may have been accepted since the last look.
    work()
  }

  /// Carries out an erasure. Returns false if it has to be tried again.
  private func carryOut(_ job: EraseJob, with eraser: UserEraser) async -> Bool {
    guard let user = job.user else { return true }
    do throws(StoreFailure) {
      try await eraser.erase(user) { counts in await self.add(counts, to: job.id) }
      try end(job.id)
      return true
    } catch {
      guard !Task.isCancelled else { return false }
      log.note(.storeFailure, "\(error)")
      jobs.fail(job.id, "\(error)")
      // The reason is only for people, so a failure here does no harm.
      try? file.replace(with: jobs.encode())
      return false
    }
  }

  private func add(_ counts: EraseJob.Counts, to id: UUID128) { jobs.add(counts, to: id) }

  /// Removes the user from the file.
  private func end(_ id: UUID128) throws(StoreFailure) {
    var changed = jobs
    changed.end(id, at: BootClock().wall)
    do throws(BackendError) {
      try file.replace(with: changed.encode())
    } catch {
      throw .other(detail: error.description)
    }
    jobs = changed
    var line = LogLine(.admin)
    line.names = [("by", "job"), ("act", "erase"), ("job", id.description)]
    line.outcome = "done"
    log.note(line)
  }
}
