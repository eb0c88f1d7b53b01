@testable import HoldfastProtocols

/// Returns all events of a reader. Its events are read after each piece.
func requests(_ pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits()) -> [HTTPRequestReader.Event] {
  var reader = HTTPRequestReader(limits: limits)
  var events: [HTTPRequestReader.Event] = []
  for piece in pieces {
    reader.receive(piece)
    while let event = reader.next() { events.append(event) }
  }
  return events
}

func requests(_ text: String, limits: HTTPLimits = HTTPLimits()) -> [HTTPRequestReader.Event] {
  requests([octets(text)], limits: limits)
}

/// Returns the status with which a text is refused, or `nil` if the text is accepted.
func refusal(_ text: String, limits: HTTPLimits = HTTPLimits()) -> Int? {
  refusal(octets(text), limits: limits)
}

func refusal(_ bytes: [UInt8], limits: HTTPLimits = HTTPLimits()) -> Int? {
  guard case .failed(let error)? = requests([bytes], limits: limits).last else { return nil }
  return error.status
}

/// Returns the heads of the complete requests.
func heads(_ text: String) -> [HTTPRequestHead] {
  requests(text).compactMap { event in
    guard case .request(let head, _) = event else { return nil }
    return head
  }
}

/// Returns a GET request that has these lines after the Host field.
func get(_ lines: String = "", target: String = "/") -> String {
  "GET \(target) HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"
}

func post(_ lines: String, _ body: String = "") -> String {
  "POST /p HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\(body)"
}
