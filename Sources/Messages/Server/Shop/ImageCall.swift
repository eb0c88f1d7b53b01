public import HoldfastCore
public import HoldfastMessageData
import HoldfastServerParts
public import HoldfastUploads

/// An HTTP request about images, reduced to the parts that the rules use.
public struct ImageCall: Sendable, Hashable, Codable {
  /// The route of a request about images.
  public enum Route: Sendable, Hashable, Codable {
    /// The upload of an image.
    case upload
    /// A stored image.
    case image(MessageID)
  }

  /// The route.
  public var route: Route
  /// The method, in upper case.
  public var method: String
  /// The value of `shop_id` in the query.
  public var shop: String?
  /// The origin of the server as the client addresses it, such as `https://chat.example`.
  public var origin: String
  /// The value of `Content-Type`.
  public var mediaType: String?
  /// Whether the body has no content coding.
  public var isPlain = true
  /// The header fields about an upload, or `nil` if the request does not name an upload protocol.
  public var upload: UploadFields?
  /// The id of the upload that the request is about.
  public var uploadID: UUID128?
  /// The id of the image or of the upload that the request may create. It must be random.
  public var candidate: UUID128?
  /// Whether the request names an unsupported version of tus.
  public var speaksOtherTus = false
  /// The value of `Range`.
  public var range: String?
  /// The value of `If-Range`.
  public var ifRange: String?
  /// The value of `If-None-Match`.
  public var ifNoneMatch: String?
  /// The received body.
  public var body: [UInt8]

  /// Creates a request from its parts.
  public init(
    _ method: String, _ route: Route, shop: String? = nil, origin: String = "http://localhost",
    mediaType: String? = nil, body: [UInt8] = []
  ) {
    (self.method, self.route, self.shop, self.origin) = (method, route, shop, origin)
    (self.mediaType, self.body) = (mediaType, body)
  }

  /// Creates a call from a received request.
  ///
  /// - Parameters:
  ///   - field: A function that returns the value of a header field, given its name in lower case.
  ///   - query: A function that returns an item of the query.
  ///   - candidate: A function that returns a random id, called if the request may create something.
  public init(
    _ method: String, _ route: Route, origin: String, body: [UInt8] = [],
    field: (String) -> String?, query: (String) -> String?, candidate: () -> UUID128
  ) {
    self.init(
      method, route, shop: query("shop_id"), origin: origin, mediaType: field("content-type"),
      body: body)
    isPlain = ["", "identity"].contains((field("content-encoding") ?? "").lowercased())
    guard route == .upload else {
      (range, ifRange, ifNoneMatch) = (field("range"), field("if-range"), field("if-none-match"))
      return
    }
    let tus = field("tus-resumable")
    speaksOtherTus = tus != nil && tus != UploadDialect.tusVersion
    upload = UploadFields { field($0.lowercased()) }
    uploadID = query("id").flatMap { UUID128($0) }
    if method == "POST" { self.candidate = candidate() }
    // A complete body determines the length of the upload.
    if upload?.isComplete == true, upload?.length == nil, method == "POST" {
      upload?.length = field("content-length").flatMap { Int($0) }
    }
  }

  /// The name of the route in metrics and logs.
  public var name: String {
    switch route {
    case .upload: "image_upload"
    case .image: method == "DELETE" ? "image_delete" : "image"
    }
  }

  /// The methods that the route accepts.
  var allow: String {
    switch route {
    case .upload: "POST, HEAD, PATCH, DELETE, OPTIONS"
    case .image: "GET, HEAD, DELETE"
    }
  }

  /// Whether the body is a form.
  var isForm: Bool { mediaType.map(MultipartForm.isForm) ?? false }

  /// The parts of the request that the rules of uploads use.
  var uploadCall: UploadCall {
    UploadCall(
      method: method, isCreation: method == "POST", fields: isForm ? nil : upload, id: uploadID,
      candidate: candidate,
      mediaType: mediaType.map { type in
        type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
      }, isGzip: isPlain ? false : nil, target: shop, body: body)
  }
}

/// The response to a request about images.
public struct ImageAnswer: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The header fields, except the length.
  public var fields: [UploadField]
  /// The body.
  public var body: [UInt8]
  /// The part of the image's file that is the body, in place of `body`.
  public var content: Range<Int>?

  /// Creates a response from its parts.
  init(_ status: Int, _ fields: [UploadField] = [], _ body: [UInt8] = []) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }

  /// Returns a refusal with a human-readable message.
  static func error(
    _ status: Int, _ message: String, retryAfter: Duration? = nil, allow: String? = nil,
    fields: [UploadField] = []
  ) -> ImageAnswer {
    let refusal = HTTPRefusal(status, message, retryAfter: retryAfter, allow: allow)
    var answer = ImageAnswer(refusal)
    answer.fields += fields
    return answer
  }

  /// Creates a refusal.
  init(_ refusal: HTTPRefusal) {
    self.init(refusal.status, refusal.headers.map { UploadField($0.0, $0.1) }, refusal.bytes)
  }

  /// Creates the response to a request about an upload.
  init(_ response: UploadResponse) {
    guard let text = response.error else {
      self.init(response.status, [UploadField("Cache-Control", "no-store")] + response.fields)
      return
    }
    let message = response.details.map { "\(text): \($0)" } ?? text
    self = .error(
      response.status, message, retryAfter: response.retryAfter, fields: response.fields)
  }

  /// Creates the response to a request with a JSON body.
  static func json(_ body: [UInt8], fields: [UploadField] = []) -> ImageAnswer {
    ImageAnswer(200, HTTPFields.json.map { UploadField($0.0, $0.1) } + fields, body)
  }

  static let noImage = ImageAnswer.error(404, "no such image")
}

/// The state of the file of an image.
public enum ImageContent: Sendable, Hashable, Codable {
  /// The file is open, and what will be sent can be read.
  case ready
  /// There is no file. The image was deleted meanwhile.
  case missing
  /// The file has another length than the image, or cannot be read.
  case damaged
}

/// The outcome of work for a request about images.
public enum ImageOutcome: Sendable, Hashable, Codable {
  /// The image and its content are stored.
  case stored(StoredImage)
  /// The content is of another type.
  case unknownType
  /// The user has too many unclaimed images. The oldest one expires after `wait`. The bytes of an
  /// upload are stored.
  case tooMany(wait: Duration)
  /// The bytes of an upload are stored. The upload now has the given size.
  case written(Int)
  /// The given number of bytes of an upload are stored, but its image is not.
  case unfinished(Int, StoreFailure)
  /// The image, or `nil` if it is unknown or deleted.
  case found(StoredImage?)
  /// The state of an image's file, which was opened.
  case content(ImageContent)
  /// The image is deleted, and its content was removed.
  case deleted
  /// Old images that no message refers to are deleted, and their content was removed.
  case cleaned
  case failed(StoreFailure)
}
