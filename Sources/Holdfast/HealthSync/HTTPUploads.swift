import HealthSync
import HoldfastSocket
import LinkCore
import LinkProtocols
import LinkRuntime
import LinkStorage
import LinkWire

/// Uploads by tasks of this process. What it leaves is found in the queue by the next one.
actor HTTPUploads: UploadQueue {
  let server: String
  private let deviceID: String
  let http: any HTTPClient
  let files: PayloadFiles
  private let resumesFrom: Int
  private let readSecret: @Sendable () async throws(LinkFailure) -> String
  private var secret: String?
  /// The secret that the server refused last.
  private var refused: String?
  /// Whether the server takes bodies in gzip; `nil` until it was asked.
  private var takesGzip: Task<Bool?, Never>?
  /// How the server lets uploads resume; `nil` until it was asked.
  var offer: Task<Offer?, Never>?
  private var deliver: (@Sendable (UploadEvent) async -> Void)?
  private var tasks: [String: Task<Void, Never>] = [:]

  /// A longer answer says no more.
  static let maxBodyBytes = 1 << 20
  /// The time of one exchange, beside a second for each 16 KiB of the body.
  static let patience = Duration.seconds(30)
  static let rate = 16_384

  /// - Parameters:
  ///   - deviceID: How the phone names itself.
  ///   - resumesFrom: From so many bytes on an upload resumes in the middle.
  ///   - secret: Reads the secret.
  init(
    server: String, deviceID: String = SyncBatch.unknownDevice, http: any HTTPClient,
    files: PayloadFiles, resumesFrom: Int,
    secret: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    // The address of the endpoint, as the original app has it, means the same.
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    self.server = base.hasSuffix(Self.path) ? String(base.dropLast(Self.path.count)) : base
    (self.http, self.files, readSecret) = (http, files, secret)
    (self.deviceID, self.resumesFrom) = (deviceID, resumesFrom)
  }

  static let path = "/api/sync"

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) {
    self.deliver = deliver
  }

  func running() -> Set<String> { [] }

  func enqueue(_ uploads: [FileUpload]) {
    for upload in uploads where tasks[upload.file] == nil {
      tasks[upload.file] = Task {
        let (outcome, epoch) = await post(upload)
        tasks[upload.file] = nil
        guard !Task.isCancelled else { return }
        await deliver?(UploadEvent(file: upload.file, outcome: outcome, epoch: epoch))
      }
    }
  }

  func stop() {
    for task in tasks.values { task.cancel() }
    tasks = [:]
    deliver = nil
  }

  /// Reads the secret again; returns whether it is another one than the server refused.
  func renewSecret() async -> Bool {
    guard let secret = try? await readSecret() else { return false }
    self.secret = secret
    return secret != refused
  }

  func identify() async throws(LinkFailure) -> SyncIdentity {
    // Phones without a name share one, and say nothing about each other.
    let isNamed = deviceID != SyncBatch.unknownDevice
    let request = HTTPCall(
      method: "GET", url: ServerURL.http(server, Self.path),
      query: isNamed ? [(name: "deviceId", value: deviceID)] : [], timeout: Self.patience,
      maxBodyBytes: Self.maxBodyBytes)
    let caller = try await caller()
    let used = secret
    let (answer, failure) = try await caller.answer(to: request)
    if answer.status == 401 { refused = used }
    // A success of a server that catches its errors may be none.
    let isDenied = SyncReply.isDenied(answer.body)
    guard !ResumableUpload.isPassing(answer.status), !isDenied else { throw failure }
    let isGzipOffered = Self.offersGzip(answer)
    takesGzip = Task { isGzipOffered }
    guard (200..<300).contains(answer.status) else {
      return SyncIdentity(SyncOwner(server: server))
    }
    return SyncIdentity(answer.body, server: server)
  }

  /// Tells the server that the sync is complete; returns why it did not do its part.
  func refresh() async -> LinkFailure? {
    do throws(LinkFailure) {
      let request = HTTPCall(
        method: "POST", url: ServerURL.http(server, Self.path + "/refresh"),
        timeout: Self.patience, maxBodyBytes: Self.maxBodyBytes)
      try Self.demandSuccess(try await caller().answer(to: request))
      return nil
    } catch {
      return error
    }
  }

  /// Throws unless an answer says that what was asked for was done.
  private static func demandSuccess(
    _ told: (answer: HTTPAnswer, failure: LinkFailure)
  ) throws(LinkFailure) {
    guard (200..<300).contains(told.answer.status), SyncReply.isSuccess(told.answer.body) else {
      throw told.failure
    }
  }

  private func caller() async throws(LinkFailure) -> RestCaller {
    if secret == nil { secret = try await readSecret() }
    return RestCaller(http: http, credentials: secret.map { .fixed($0) } ?? .none) {
      SyncReply.reason(of: $0)
    }
  }

  private func post(_ upload: FileUpload) async -> (UploadOutcome, epoch: String?) {
    let body: [UInt8]
    do throws(StoreFailure) {
      guard let found = try files.find(upload.file) else {
        return (.unreadable(detail: files.missing(upload.file)), nil)
      }
      body = found
    } catch {
      // A file that cannot be read now may be readable later.
      return (.failed(.local(detail: error.description)), nil)
    }
    do throws(LinkFailure) {
      let caller = try await caller()
      let used = secret
      do throws(LinkFailure) {
        return (.accepted, try await send(body, of: upload.file, by: caller))
      } catch {
        if case .http(401, _, _) = error { refused = used }
        throw error
      }
    } catch {
      return (.failed(error), nil)
    }
  }

  /// Sends a batch; returns the epoch that the answer names.
  private func send(
    _ body: [UInt8], of file: String, by caller: RestCaller
  ) async throws(LinkFailure) -> String? {
    let resumes = body.count >= resumesFrom
    let ticket = resumes ? files.ticket(of: file) : nil
    let offer = resumes ? await offered(ticket) : nil
    // tus has no word for the coding of what is uploaded.
    let isTus = offer?.dialect == .tus
    let isGzip = isTus ? false : await isGzipOffered() ?? ticket?.isGzip ?? false
    if isGzip, let packed = GzipBody.deflate(body), packed.count < body.count {
      do throws(LinkFailure) {
        let payload = Payload(file: file, bytes: packed, isGzip: true)
        return try await send(payload, offer, by: caller)
      } catch {
        // The server does not take gzip after all.
        guard case .http(415, _, _) = error else { throw error }
        takesGzip = Task { false }
      }
    }
    return try await send(Payload(file: file, bytes: body, isGzip: false), offer, by: caller)
  }

  private func send(
    _ payload: Payload, _ offer: UploadOffer?, by caller: RestCaller
  ) async throws(LinkFailure) -> String? {
    if let offer, payload.bytes.count >= resumesFrom,
      let answer = try await resume(payload, offer, by: caller)
    {
      return Self.epoch(answer)
    }
    return try await send(payload.bytes, payload.coding, by: caller)
  }

  private static func epoch(_ answer: HTTPAnswer) -> String? {
    SyncIdentity.epoch { answer.headers[$0] }
  }

  private func send(
    _ body: [UInt8], _ headers: [(name: String, value: String)], by caller: RestCaller
  ) async throws(LinkFailure) -> String? {
    let request = HTTPCall(
      method: "POST", url: ServerURL.http(server, Self.path), headers: headers, body: body,
      timeout: Self.patience + .seconds(body.count / Self.rate),
      maxBodyBytes: Self.maxBodyBytes)
    let told = try await caller.answer(to: request)
    try Self.demandSuccess(told)
    return Self.epoch(told.answer)
  }

  /// Asks the server once whether it takes bodies in gzip (RFC 7694); again if no answer came.
  private func isGzipOffered() async -> Bool? {
    let asking = takesGzip ?? Task { await askForGzip() }
    takesGzip = asking
    let isOffered = await asking.value
    if isOffered == nil, takesGzip == asking { takesGzip = nil }
    return isOffered
  }

  private func askForGzip() async -> Bool? {
    let request = HTTPCall(
      method: "GET", url: ServerURL.http(server, Self.path), timeout: Self.patience,
      maxBodyBytes: Self.maxBodyBytes)
    guard let response = try? await http.send(request),
      !ResumableUpload.isPassing(response.status)
    else { return nil }
    return Self.offersGzip(response)
  }

  private static func offersGzip(_ answer: HTTPAnswer) -> Bool {
    let offered = (answer.headers["accept-encoding"] ?? "").lowercased().split(separator: ",")
    return offered.contains { coding in
      let parts = coding.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
      return parts.first == "gzip" && !parts.contains("q=0")
    }
  }
}

/// What is sent of a file.
struct Payload: Sendable {
  var file: String
  /// As they are sent.
  var bytes: [UInt8]
  var isGzip: Bool

  /// The field that names the coding of the bytes.
  var coding: [(name: String, value: String)] {
    isGzip ? [("Content-Encoding", "gzip")] : []
  }
}

// Uploads that resume in the middle.
extension HTTPUploads {
  /// The answer of the server to the question how uploads may resume.
  enum Offer: Sendable, Hashable {
    case absent
    case made(UploadOffer)
  }

  /// Asks the server once how uploads may resume; again if no answer came.
  ///
  /// - Parameter ticket: What an upload was begun with, which counts if no answer came.
  func offered(_ ticket: UploadTicket?) async -> UploadOffer? {
    let asking = offer ?? Task { await askForOffer() }
    offer = asking
    let answer = await asking.value
    if answer == nil, offer == asking { offer = nil }
    switch answer {
    case .made(let found)?: return found
    case .absent?: return nil
    case nil: return ticket.map { UploadOffer($0.dialect) }
    }
  }

  private func askForOffer() async -> Offer? {
    let request = HTTPCall(
      method: "OPTIONS", url: ServerURL.http(server, Self.path), timeout: Self.patience,
      maxBodyBytes: Self.maxBodyBytes)
    guard let answer = try? await http.send(request),
      !ResumableUpload.isPassing(answer.status)
    else { return nil }
    guard (200..<300).contains(answer.status),
      let found = UploadOffer(options: { answer.headers[$0.lowercased()] })
    else { return .absent }
    return .made(found)
  }

  /// Sends a payload in pieces, from where an earlier try was cut.
  ///
  /// - Returns: The answer of a server that has it; `nil` if it is to be sent in one request.
  func resume(
    _ payload: Payload, _ offer: UploadOffer, by caller: RestCaller
  ) async throws(LinkFailure) -> HTTPAnswer? {
    let ticket = files.ticket(of: payload.file).flatMap { ticket in
      ticket.dialect == offer.dialect && ticket.isFor(payload.bytes, isGzip: payload.isGzip)
        ? ticket : nil
    }
    if ticket == nil { files.forgetTicket(of: payload.file) }
    var upload = ResumableUpload(size: payload.bytes.count, offer, url: ticket?.url)
    var last: (answer: HTTPAnswer, failure: LinkFailure)?
    while true {
      let step = upload.step
      guard let request = request(for: step, of: payload, upload.fields) else {
        guard case .ended(let status) = step else {
          if !upload.isUnderstood { self.offer = Task { Offer.absent } }
          return nil
        }
        guard let last else { throw .protocolError(detail: "no answer") }
        if (200..<300).contains(status), upload.isStored { return last.answer }
        throw last.failure
      }
      let told = try await caller.answer(to: request)
      let answer = told.answer
      last = told
      let reply = UploadReply(
        answer.status, offer.dialect, of: request.url, body: answer.body
      ) { answer.headers[$0.lowercased()] }
      switch upload.take(reply) {
      case .nothing: break
      case .forget: files.forgetTicket(of: payload.file)
      case .ticket(let url):
        files.keep(
          UploadTicket(offer.dialect, url: url, of: payload.bytes, isGzip: payload.isGzip),
          of: payload.file)
      }
    }
  }

  /// The request of a step; `nil` if it makes none.
  private func request(
    for step: ResumableUpload.Step, of payload: Payload, _ fields: [UploadField]
  ) -> HTTPCall? {
    let headers = fields.map { (name: $0.name, value: $0.value) }
    func call(
      _ method: String, _ url: String, _ more: [(name: String, value: String)] = [],
      _ body: [UInt8] = []
    ) -> HTTPCall {
      HTTPCall(
        method: method, url: url, headers: headers + more, body: body,
        timeout: Self.patience + .seconds(body.count / Self.rate),
        maxBodyBytes: Self.maxBodyBytes)
    }
    switch step {
    case .create: return call("POST", ServerURL.http(server, Self.path), payload.coding)
    case .offset(let url): return call("HEAD", url)
    case .append(let url, let from, let count, _):
      return call("PATCH", url, [], Array(payload.bytes[from..<(from + count)]))
    case .whole, .ended: return nil
    }
  }
}
