package import HoldfastCore

/// An attempt to upload the payload of a file, in one request or in resumable pieces.
///
///     asking ──offer──▶ compressing ──▶ in pieces ──the server keeps no pieces──▶ in one request
///                          ▲  (if the server takes gzip)  │                         │
///                          └──────── 415: uncompressed ───┴─────────────────────────┤
///                                                         └─────────▶ ended ◀───────┘
///
/// This value makes all decisions but sends no request. Its owner carries out `step` and reports
/// the result with `take`. Before the next step, the owner stores or removes the ticket that `take`
/// returns.
package struct UploadTry: Sendable, Hashable {
  /// The next action of an upload attempt.
  package enum Step: Sendable, Hashable {
    /// Compress the payload with gzip.
    case compress
    /// Send a request.
    case send(UploadRequest)
    /// The attempt has ended. If the payload was accepted, the epoch is that of the response.
    case ended(UploadOutcome, epoch: String?)
  }

  /// The result of a step.
  package enum Input: Sendable, Hashable {
    /// The payload compressed with gzip; `nil` if compression failed.
    case compressed([UInt8]?)
    /// The server's response to the request.
    case answer(UploadAnswer)
    /// The request failed without a response from the server.
    case failed(LinkFailure)
  }

  /// A change of the stored ticket that the caller must carry out.
  package enum TicketChange: Sendable, Hashable {
    /// Replace the stored ticket with this one.
    case store(UploadTicket)
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

  /// The next action.
  package private(set) var step: Step
  private let endpoint: String
  private let body: [UInt8]
  private let type: String?
  private let form: UploadForm?
  private let resumesFrom: Int
  private var ticket: UploadTicket?
  private var offer: UploadOffer?
  private var stage: Stage
  /// The bytes to send: the body, either compressed or unchanged.
  package private(set) var payload: [UInt8]
  /// Whether the payload is compressed.
  package private(set) var isGzip = false
  /// The server's answer to the whole payload; `nil` if the attempt ended without one.
  package private(set) var answer: UploadAnswer?

  /// Creates an attempt.
  ///
  /// - Parameters:
  ///   - body: The content of the payload's file.
  ///   - endpoint: The URL to which payloads are posted.
  ///   - type: The media type of the payload; `nil` for the usual one of the interface.
  ///   - form: The content of a request that sends the payload whole; `nil` for the payload itself.
  ///   - ticket: The stored ticket of an earlier attempt.
  ///   - resumesFrom: The minimum size in bytes of a payload that is sent in pieces.
  ///   - support: The upload features that the server has reported.
  package init(
    _ body: [UInt8], to endpoint: String, type: String? = nil, form: UploadForm? = nil,
    ticket: UploadTicket?, resumesFrom: Int, _ support: UploadSupport
  ) {
    (self.body, self.endpoint, self.resumesFrom) = (body, endpoint, resumesFrom)
    (self.type, self.form) = (type, form)
    (payload, stage) = (body, .asking)
    step = .send(UploadRequest("OPTIONS", endpoint, showsSecret: false))
    if body.count >= resumesFrom { self.ticket = ticket }
    if body.count < resumesFrom || support.resumption != nil { encode(support) }
  }

  /// Handles the result of the current step. Results of other steps are ignored.
  ///
  /// - Parameter support: The upload features that the server has reported. They are updated from
  ///   the response.
  /// - Returns: The change of the stored ticket; `nil` if it does not change.
  package mutating func take(_ input: Input, _ support: inout UploadSupport) -> TicketChange? {
    switch (stage, input) {
    case (.asking, .answer(let answer)):
      support.offered(answer)
      encode(support)
    case (.asking, .failed(let failure)):
      // The response is a web page that does not come from the endpoint.
      if case .http(let status, _, _) = failure, !UploadReply.isTransient(status) {
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

  /// Decides whether to compress the payload.
  private mutating func encode(_ support: UploadSupport) {
    if body.count >= resumesFrom {
      switch support.resumption {
      case .offered(let offer)?: self.offer = offer
      case .absent?: offer = nil
      // Reuse the protocol of the earlier attempt.
      case nil: offer = ticket.map { UploadOffer($0.dialect) }
      }
    }
    // tus has no header field for the content coding of an upload.
    guard offer?.dialect != .tus, support.takesGzip ?? ticket?.isGzip ?? false else {
      return send(body, isGzip: false)
    }
    (stage, step) = (.compressing, .compress)
  }

  private mutating func send(_ bytes: [UInt8], isGzip: Bool) {
    (payload, self.isGzip) = (bytes, isGzip)
    guard let offer, bytes.count >= resumesFrom else { return sendInOneRequest() }
    let url = ticket.flatMap { ticket in
      ticket.dialect == offer.dialect && ticket.isFor(bytes, isGzip: isGzip)
        ? ticket.url(at: endpoint) : nil
    }
    let upload = ResumableUpload(size: bytes.count, offer, url: url)
    guard let request = request(of: upload) else { return sendInOneRequest() }
    (stage, step) = (.inPieces(upload, offer), .send(request))
  }

  private mutating func sendInOneRequest() {
    stage = .inOneRequest
    if let form {
      step = .send(
        UploadRequest("POST", endpoint, [UploadField("Content-Type", form.type)], form.body))
    } else {
      step = .send(UploadRequest("POST", endpoint, content, payload))
    }
  }

  /// The header fields that specify the media type and the content coding of the payload.
  private var content: [UploadField] {
    (type.map { [UploadField("Content-Type", $0)] } ?? [])
      + (isGzip ? [UploadField("Content-Encoding", "gzip")] : [])
  }

  /// Returns the request for the next step of an upload in pieces; `nil` if none follows.
  private func request(of upload: ResumableUpload) -> UploadRequest? {
    switch upload.step {
    case .create: UploadRequest("POST", endpoint, upload.fields + content)
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
    let update = upload.take(answer.reply(offer.dialect, of: sent.url))
    let change = change(update, offer)
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
    _ update: ResumableUpload.TicketUpdate, _ offer: UploadOffer
  ) -> TicketChange? {
    switch update {
    case .nothing: return nil
    case .forget:
      ticket = nil
      return .forget
    case .ticket(let url):
      // Only the path: the next attempt may be for another server.
      let new = UploadTicket(
        offer.dialect, url: UploadReply.path(of: url), of: payload, isGzip: isGzip)
      ticket = new
      return .store(new)
    }
  }

  /// Ends the attempt with the response to the whole payload.
  private mutating func conclude(
    _ answer: UploadAnswer, isStored: Bool, _ support: inout UploadSupport
  ) {
    self.answer = answer
    if isStored, answer.isSuccess {
      (stage, step) = (.ended, .ended(.accepted, epoch: answer.epoch))
    } else {
      fail(answer.failure, &support)
    }
  }

  /// Ends the attempt, or resends the payload uncompressed to a server that rejects gzip.
  private mutating func fail(_ failure: LinkFailure, _ support: inout UploadSupport) {
    guard isGzip, case .http(415, _, _) = failure else {
      (stage, step) = (.ended, .ended(.failed(failure), epoch: nil))
      return
    }
    support.takesGzip = false
    send(body, isGzip: false)
  }

  /// Whether the attempt has ended with the server's acceptance.
  package var isAccepted: Bool { if case .ended(.accepted, _) = step { true } else { false } }

  /// The protocol of the current upload in pieces; `nil` for other uploads.
  package var dialect: UploadDialect? {
    if case .inPieces(_, let offer) = stage { offer.dialect } else { nil }
  }

  /// The current step of an upload in pieces; `nil` for other uploads.
  package var piece: ResumableUpload.Step? {
    if case .inPieces(let upload, _) = stage { upload.step } else { nil }
  }
}

/// A form that contains a payload.
package struct UploadForm: Sendable, Hashable {
  /// The media type, with the boundary of the form.
  package var type: String
  /// The form.
  package var body: [UInt8]

  /// Creates a form.
  package init(type: String, body: [UInt8]) { (self.type, self.body) = (type, body) }
}

/// A request of an upload.
package struct UploadRequest: Sendable, Hashable {
  /// The HTTP method.
  package var method: String
  /// The URL on the server.
  package var url: String
  /// The header fields of the upload.
  package var fields: [UploadField]
  /// The body.
  package var body: [UInt8]
  /// Whether the request contains the secret. The response to a request without it is the same for
  /// all uploads.
  package var showsSecret: Bool

  /// Creates a request.
  package init(
    _ method: String, _ url: String, _ fields: [UploadField] = [], _ body: [UInt8] = [],
    showsSecret: Bool = true
  ) {
    (self.method, self.url, self.fields, self.body) = (method, url, fields, body)
    self.showsSecret = showsSecret
  }
}
