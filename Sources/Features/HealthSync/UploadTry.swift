package import LinkCore
package import LinkStorage
package import LinkWire

/// One try to upload the payload of a file: in one request, or in pieces where an earlier try ended.
///
///     asking ──offer──▶ compressing ──▶ in pieces ──the server keeps no pieces──▶ in one request
///                          ▲  (if the server takes gzip)  │                         │
///                          └──────── 415: uncompressed ───┴─────────────────────────┤
///                                                         └─────────▶ ended ◀───────┘
///
/// The value makes every decision and no request. Its owner does what `step` says, reports the result
/// with `take`, and stores or removes the ticket that `take` returns before the next step.
package struct UploadTry: Sendable, Hashable {
  /// The next thing to do.
  package enum Step: Sendable, Hashable {
    /// Compress the payload with gzip.
    case compress
    /// Send a request.
    case send(UploadRequest)
    /// The try has ended.
    ///
    /// - epoch: The epoch that the server named when it accepted the payload.
    case ended(UploadOutcome, epoch: String?)
  }

  /// The result of a step.
  package enum Input: Sendable, Hashable {
    /// The payload in gzip; nil if it could not be compressed.
    case compressed([UInt8]?)
    /// The server answered the request.
    case answer(UploadAnswer)
    /// The request failed without an answer of the server.
    case failed(LinkFailure)
  }

  /// A change of the stored ticket.
  package enum TicketChange: Sendable, Hashable {
    /// Replace the stored ticket with this one.
    case keep(UploadTicket)
    /// Remove the stored ticket.
    case forget
  }

  private enum Stage: Sendable, Hashable {
    case asking
    case compressing
    case inPieces(ResumableUpload, UploadOffer)
    case inOneRequest
    case ended
  }

  /// The next thing to do.
  package private(set) var step: Step
  private let endpoint: String
  private let body: [UInt8]
  private let resumesFrom: Int
  private var ticket: UploadTicket?
  private var offer: UploadOffer?
  private var stage: Stage
  /// The bytes that are sent: the body, or the body in gzip.
  package private(set) var payload: [UInt8]
  /// Whether the bytes that are sent are compressed.
  package private(set) var isGzip = false

  /// Creates a try.
  ///
  /// - Parameters:
  ///   - body: The payload as its file has it.
  ///   - endpoint: The URL that batches are posted to.
  ///   - ticket: The stored ticket of an earlier try.
  ///   - resumesFrom: The least size in bytes of a payload that is sent in pieces.
  ///   - support: What the server has said about uploads.
  package init(
    _ body: [UInt8], to endpoint: String, ticket: UploadTicket?, resumesFrom: Int,
    _ support: UploadSupport
  ) {
    (self.body, self.endpoint, self.resumesFrom) = (body, endpoint, resumesFrom)
    (payload, stage) = (body, .asking)
    step = .send(UploadRequest("OPTIONS", endpoint, showsSecret: false))
    if body.count >= resumesFrom { self.ticket = ticket }
    if body.count < resumesFrom || support.resumption != nil { encode(support) }
  }

  /// Takes the result of the present step. Results of other steps are ignored.
  ///
  /// - Parameter support: What the server has said about uploads; updated by its answer.
  /// - Returns: The change of the stored ticket; nil if it stays as it is.
  package mutating func take(_ input: Input, _ support: inout UploadSupport) -> TicketChange? {
    switch (stage, input) {
    case (.asking, .answer(let answer)):
      support.offered(answer)
      encode(support)
    case (.asking, .failed(let failure)):
      // A page for people, instead of an answer of the endpoint.
      if case .http(let status, _, _) = failure, !ResumableUpload.isPassing(status) {
        support.resumption = .absent
      }
      encode(support)
    case (.compressing, .compressed(let packed)):
      if let packed, packed.count < body.count {
        send(packed, isGzip: true)
      } else {
        send(body, isGzip: false)
      }
    case (.inPieces(let upload, let offer), .answer(let answer)):
      return take(answer, upload, offer, &support)
    case (.inOneRequest, .answer(let answer)):
      conclude(answer, isStored: true, &support)
    case (.inPieces, .failed(let failure)), (.inOneRequest, .failed(let failure)):
      fail(failure, &support)
    case (.asking, .compressed), (.compressing, .answer), (.compressing, .failed),
      (.inPieces, .compressed), (.inOneRequest, .compressed), (.ended, .answer),
      (.ended, .failed), (.ended, .compressed):
      break
    }
    return nil
  }

  /// Chooses between the payload and the payload in gzip.
  private mutating func encode(_ support: UploadSupport) {
    if body.count >= resumesFrom {
      switch support.resumption {
      case .offered(let offer)?: self.offer = offer
      case .absent?: offer = nil
      // The offer that the earlier try had.
      case nil: offer = ticket.map { UploadOffer($0.dialect) }
      }
    }
    // tus has no field for the coding of an upload.
    guard offer?.dialect != .tus, support.takesGzip ?? ticket?.isGzip ?? false else {
      return send(body, isGzip: false)
    }
    (stage, step) = (.compressing, .compress)
  }

  private mutating func send(_ bytes: [UInt8], isGzip: Bool) {
    (payload, self.isGzip) = (bytes, isGzip)
    guard let offer, bytes.count >= resumesFrom else { return sendInOneRequest() }
    let url = ticket.flatMap { ticket in
      ticket.dialect == offer.dialect && ticket.isFor(bytes, isGzip: isGzip) ? ticket.url : nil
    }
    let upload = ResumableUpload(size: bytes.count, offer, url: url)
    guard let request = request(of: upload) else { return sendInOneRequest() }
    (stage, step) = (.inPieces(upload, offer), .send(request))
  }

  private mutating func sendInOneRequest() {
    stage = .inOneRequest
    step = .send(UploadRequest("POST", endpoint, coding, payload))
  }

  /// The field that names the coding of the bytes.
  private var coding: [UploadField] {
    isGzip ? [UploadField("Content-Encoding", "gzip")] : []
  }

  /// Returns the request of the next piece; nil if no piece follows.
  private func request(of upload: ResumableUpload) -> UploadRequest? {
    switch upload.step {
    case .create: UploadRequest("POST", endpoint, upload.fields + coding)
    case .offset(let url): UploadRequest("HEAD", url, upload.fields)
    case .append(let url, let from, let count, _):
      UploadRequest("PATCH", url, upload.fields, Array(payload[from..<(from + count)]))
    case .whole, .ended: nil
    }
  }

  private mutating func take(
    _ answer: UploadAnswer, _ before: ResumableUpload, _ offer: UploadOffer,
    _ support: inout UploadSupport
  ) -> TicketChange? {
    guard case .send(let sent) = step else { return nil }
    var upload = before
    let keep = upload.take(answer.reply(offer.dialect, of: sent.url))
    let change = change(keep, offer)
    if let request = request(of: upload) {
      (stage, step) = (.inPieces(upload, offer), .send(request))
    } else if case .ended = upload.step {
      conclude(answer, isStored: upload.isStored, &support)
    } else {
      if !upload.isUnderstood { support.resumption = .absent }
      sendInOneRequest()
    }
    return change
  }

  private mutating func change(
    _ keep: ResumableUpload.Keep, _ offer: UploadOffer
  ) -> TicketChange? {
    switch keep {
    case .nothing: return nil
    case .forget:
      ticket = nil
      return .forget
    case .ticket(let url):
      let new = UploadTicket(offer.dialect, url: url, of: payload, isGzip: isGzip)
      ticket = new
      return .keep(new)
    }
  }

  /// Ends the try with the answer to the whole payload.
  private mutating func conclude(
    _ answer: UploadAnswer, isStored: Bool, _ support: inout UploadSupport
  ) {
    if isStored, answer.isSuccess {
      (stage, step) = (.ended, .ended(.accepted, epoch: answer.epoch))
    } else {
      fail(answer.failure, &support)
    }
  }

  /// Ends the try, or sends the payload uncompressed to a server that does not take gzip after all.
  private mutating func fail(_ failure: LinkFailure, _ support: inout UploadSupport) {
    guard isGzip, case .http(415, _, _) = failure else {
      (stage, step) = (.ended, .ended(.failed(failure), epoch: nil))
      return
    }
    support.takesGzip = false
    send(body, isGzip: false)
  }

  /// The protocol in which pieces are sent; nil if none are sent now.
  package var dialect: UploadDialect? {
    if case .inPieces(_, let offer) = stage { offer.dialect } else { nil }
  }

  /// The piece that is sent now; nil if none is.
  package var piece: ResumableUpload.Step? {
    if case .inPieces(let upload, _) = stage { upload.step } else { nil }
  }
}

/// A request of an upload.
package struct UploadRequest: Sendable, Hashable {
  /// The method.
  package var method: String
  /// The URL at the server.
  package var url: String
  /// The header fields about the upload.
  package var fields: [UploadField]
  /// The body.
  package var body: [UInt8]
  /// Whether the secret is sent with it. The same request without a secret has the same answer for
  /// all uploads.
  package var showsSecret: Bool

  /// Creates a request from its parts.
  package init(
    _ method: String, _ url: String, _ fields: [UploadField] = [], _ body: [UInt8] = [],
    showsSecret: Bool = true
  ) {
    (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    self.showsSecret = showsSecret
  }
}

/// The answer of a server to a request of a sync.
package struct UploadAnswer: Sendable, Hashable {
  /// The HTTP status code.
  package var status: Int
  /// The header fields by their names in lower case.
  package var headers: [String: String]
  /// The body.
  package var body: [UInt8]
  /// The failure that the answer means if it is no success.
  package var failure: LinkFailure

  /// Creates an answer from its parts.
  package init(_ status: Int, _ headers: [String: String], _ body: [UInt8], _ failure: LinkFailure)
  {
    (self.status, self.headers, self.body, self.failure) = (status, headers, body, failure)
  }

  /// Whether the status is one of success, and the body does not deny it.
  package var isSuccess: Bool { (200..<300).contains(status) && SyncReply.isSuccess(body) }

  /// The failure that the answer means; nil for a success.
  package var refusal: LinkFailure? { isSuccess ? nil : failure }

  /// The epoch that the answer names.
  var epoch: String? { SyncIdentity.epoch { headers[$0] } }

  /// Whether the answer offers to take bodies in gzip (RFC 9110 section 12.5.3).
  fileprivate var offersGzip: Bool {
    let offered = (headers["accept-encoding"] ?? "").lowercased().split(separator: ",")
    return offered.contains { coding in
      let parts = coding.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
      return parts.first == "gzip" && !parts.contains("q=0")
    }
  }

  /// Reads the fields about an upload.
  package func reply(_ dialect: UploadDialect, of url: String) -> UploadReply {
    UploadReply(status, dialect, of: url, body: body) { headers[$0.lowercased()] }
  }
}

/// What a server has said in this process about the uploads that it takes.
package struct UploadSupport: Sendable, Hashable {
  /// The answer to the question how uploads resume.
  package enum Resumption: Sendable, Hashable {
    case absent
    case offered(UploadOffer)
  }

  /// How uploads resume; nil until the server has answered.
  package fileprivate(set) var resumption: Resumption?
  /// Whether bodies may be sent in gzip; nil until the server has answered.
  package fileprivate(set) var takesGzip: Bool?

  /// Creates the support of a server that has said nothing.
  package init(resumption: Resumption? = nil, takesGzip: Bool? = nil) {
    (self.resumption, self.takesGzip) = (resumption, takesGzip)
  }

  /// Reads the answer to `OPTIONS`. A failure that may pass says nothing.
  mutating func offered(_ answer: UploadAnswer) {
    guard !ResumableUpload.isPassing(answer.status) else { return }
    guard (200..<300).contains(answer.status),
      let offer = UploadOffer(options: { answer.headers[$0.lowercased()] })
    else { return resumption = .absent }
    resumption = .offered(offer)
  }

  /// Reads the answer to the question whose progress the phone makes.
  ///
  /// - Parameter server: The address of the server.
  /// - Returns: An identity also of a server that says nothing about itself; a failure that may pass,
  ///   or of a server that says that it failed.
  package mutating func identified(
    _ answer: UploadAnswer, server: String
  ) -> Result<SyncIdentity, LinkFailure> {
    // A server that catches its errors answers them with a status of success.
    guard !ResumableUpload.isPassing(answer.status), !SyncReply.isDenied(answer.body) else {
      return .failure(answer.failure)
    }
    takesGzip = answer.offersGzip
    guard (200..<300).contains(answer.status) else {
      return .success(SyncIdentity(SyncOwner(server: server)))
    }
    return .success(SyncIdentity(answer.body, server: server))
  }
}

/// The secret that requests show, and the last one that the server refused.
package struct UploadSecret<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The secret in use; nil until it was read.
  package private(set) var current: Value?
  private var refused: Value?

  /// Creates the state of a process that uses this secret.
  package init(_ current: Value? = nil) { self.current = current }

  /// Uses a secret that was read again; returns whether it is another one than the server refused.
  package mutating func renew(_ value: Value) -> Bool {
    current = value
    return value != refused
  }

  /// Notes how a request with a secret failed.
  package mutating func note(_ failure: LinkFailure, of value: Value) {
    if case .http(401, _, _) = failure { refused = value }
  }
}
