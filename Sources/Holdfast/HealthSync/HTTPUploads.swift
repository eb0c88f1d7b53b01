import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastPorts
import HoldfastProtocols
import HoldfastSyncData
import HoldfastUploads

/// A queue that uploads in tasks of this process. The next process continues unfinished uploads.
///
/// It sends the requests that `UploadTry` returns, and keeps the tickets of uploads in files.
actor HTTPUploads: UploadQueue {
  private let requests: SyncRequests
  private let deviceID: String
  private let http: any HTTPClient
  private let files: PayloadFiles
  private let resumesFrom: Int
  private let secrets: SyncSecrets
  private let clock: any LinkClock
  private var support = UploadSupport()
  private(set) var pause = UploadPause()
  /// The requests in progress that contain no secret.
  ///
  /// Uploads that make the same request share its result.
  private var questions: [UploadRequest: Task<UploadTry.Input, Never>] = [:]
  private var deliver: (@Sendable (UploadEvent) async -> Void)?
  private var tasks: [String: Task<Void, Never>] = [:]
  /// The number of events that are being delivered.
  private var deliveries = 0
  /// The calls of `stop` that wait for the deliveries in progress.
  private var stopping: [CheckedContinuation<Void, Never>] = []

  /// The number of bytes of a body that add a second to the time limit of an exchange.
  private static let rate = 16_384

  /// Creates a queue without uploads.
  ///
  /// - Parameters:
  ///   - deviceID: The identifier of this phone.
  ///   - resumesFrom: The minimum size, in bytes, of an upload that resumes after an interruption
  ///     instead of starting again.
  ///   - secretLimit: The time limit of a call of `secret`.
  ///   - clock: The clock of that limit, and of the pauses for which the server asks.
  ///   - secret: A closure that reads the secret. It is called once at a time.
  init(
    server: String, deviceID: String = SyncBatch.unknownDevice, http: any HTTPClient,
    files: PayloadFiles, resumesFrom: Int, secretLimit: Duration = .seconds(15),
    clock: any LinkClock = BootClock(), secret: @escaping SyncSecrets.Source
  ) {
    requests = SyncRequests(to: server)
    (self.http, self.files, self.clock) = (http, files, clock)
    secrets = SyncSecrets(limit: secretLimit, clock: clock, secret)
    (self.deviceID, self.resumesFrom) = (deviceID, resumesFrom)
  }

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) {
    secrets.begin()
    // The pause may be that of another user.
    pause = UploadPause()
    self.deliver = deliver
  }

  func running() -> Set<String> { [] }

  func enqueue(_ uploads: [FileUpload]) {
    for upload in uploads where tasks[upload.file] == nil {
      tasks[upload.file] = Task { [known = pause.known] in
        let event = await post(upload.file, since: known)
        tasks[upload.file] = nil
        guard !Task.isCancelled else { return }
        let number = pause.number(after: event.outcome)
        await deliver(event)
        pause.told(number)
      }
    }
  }

  private func deliver(_ event: UploadEvent) async {
    deliveries += 1
    await deliver?(event)
    deliveries -= 1
    guard deliveries == 0 else { return }
    for waiter in stopping { waiter.resume() }
    stopping = []
  }

  func stop() async {
    for task in tasks.values { task.cancel() }
    tasks = [:]
    deliver = nil
    secrets.end()
    if deliveries > 0 { await withCheckedContinuation { stopping.append($0) } }
  }

  /// Reads the secret again. Returns whether it differs from the refused one.
  func renewSecret() async -> Bool { await secrets.renew() }

  func identify() async throws(LinkFailure) -> SyncIdentity {
    let used = try await secrets.present()
    do throws(LinkFailure) {
      let answer = try await http.answer(to: requests.owner(of: deviceID), used)
      return try support.identified(answer, server: requests.server).get()
    } catch {
      secrets.note(error, of: used)
      throw error
    }
  }

  /// Reports to the server that the sync is complete. Returns the failure, or `nil` on success.
  func refresh() async -> LinkFailure? {
    do throws(LinkFailure) {
      return try await http.answer(to: requests.refresh, try await secrets.present()).refusal
    } catch {
      return error
    }
  }

  /// Uploads a file.
  ///
  /// - Parameter known: The last pause that the machine knew of when it handed the file over.
  private func post(_ file: String, since known: UploadPause.Number) async -> UploadEvent {
    let body: [UInt8]
    let used: String
    do throws(StoreFailure) {
      guard let found = try files.find(file) else {
        return UploadEvent(file: file, outcome: .unreadable(detail: files.missing(file)))
      }
      body = found
    } catch {
      // The file may become readable later.
      return UploadEvent(file: file, outcome: .failed(.local(detail: error.description)))
    }
    do throws(LinkFailure) {
      used = try await secrets.present()
    } catch {
      return UploadEvent(file: file, outcome: .failed(error))
    }
    let (outcome, epoch) = await send(body, of: file, used, since: known)
    if case .failed(let failure) = outcome { secrets.note(failure, of: used) }
    return UploadEvent(file: file, outcome: outcome, epoch: epoch)
  }

  /// Sends the requests of one attempt to upload a file until the attempt ends.
  private func send(
    _ body: [UInt8], of file: String, _ secret: String, since known: UploadPause.Number
  ) async -> (UploadOutcome, epoch: String?) {
    var upload = UploadTry(
      body, to: requests.endpoint, ticket: files.ticket(of: file), resumesFrom: resumesFrom, support
    )
    while true {
      let input: UploadTry.Input
      switch upload.step {
      case .compress: input = .compressed(await Self.deflated(body))
      case .send(let request):
        if let paused = pause.failure(since: known, at: clock.now) { return (.failed(paused), nil) }
        input = request.showsSecret ? await result(of: request, secret) : await ask(request)
      case .ended(let outcome, let epoch): return (outcome, epoch)
      }
      switch upload.take(input, &support) {
      case .store(let ticket)?: files.keep(ticket, of: file)
      case .forget?: files.forgetTicket(of: file)
      case nil: break
      }
    }
  }

  /// Compresses a payload. Meanwhile, the queue receives the answers to other uploads.
  @concurrent private static func deflated(_ body: [UInt8]) async -> [UInt8]? {
    GzipBody.deflate(body)
  }

  /// Sends a request that contains no secret, or waits for an equal request in progress.
  private func ask(_ request: UploadRequest) async -> UploadTry.Input {
    let question = questions[request] ?? Task { await result(of: request, nil) }
    questions[request] = question
    defer { if questions[request] == question { questions[request] = nil } }
    return await question.value
  }

  private func result(of request: UploadRequest, _ secret: String?) async -> UploadTry.Input {
    let call = HTTPCall(
      method: request.method, url: request.url,
      headers: request.fields.map { (name: $0.name, value: $0.value) }, body: request.body,
      timeout: SyncRequests.timeLimit + .seconds(request.body.count / Self.rate),
      maxBodyBytes: SyncRequests.maxBodyBytes)
    do throws(LinkFailure) {
      let answer = try await http.answer(to: call, secret)
      if let refusal = answer.refusal { pause.note(refusal, at: clock.now) }
      return .answer(answer)
    } catch {
      return .failed(error)
    }
  }
}
