import LinkCore
import LinkServerCore
import LinkWire

// The words of protocols: offers, tickets, places and dates.
extension SyncStranger {
  mutating func tryWords() {
    tryOffers()
    tryTickets()
    tryPlaces()
    let odd = ["2026-1-31", "2026-02-30", "2026-01-31T00:00", "", "today", "2026-01-31Z"]
    for path in [SyncPath.steps, .heartRate, .sleep, .workouts, .periods] {
      var call = call("GET", path)
      let date = odd[number(0...odd.count - 1)]
      call.query[happens() ? "from" : "to"] = date
      expect(desk.ask(call, of: user), 400, "the date \(date)")
    }
  }

  private mutating func expectOffer(_ fields: [String: String], _ offer: UploadOffer?) {
    let found = UploadOffer { fields[$0.lowercased()] }
    expect(found == offer, "\(fields) offers \(found.map { "\($0)" } ?? "nothing")")
  }

  private mutating func tryOffers() {
    let (size, append, version) = (number(0...1 << 30), number(1...1 << 20), number(0...12))
    let limits = ["max-append-size=\(append);x", "max-age=5", "odd", "max-size= \(size)"]
    let limit = (happens() ? limits : limits.reversed()).joined(separator: " ,")
    let tus = [
      "tus-version": "0.2.1 , 1.0.0", "tus-extension": "termination,\tcreation",
      "tus-max-size": "\(size)",
    ]
    let named = ["upload-draft-interop-version": "\(version)", "upload-limit": limit]
    let draft = UploadOffer(.draft(version), maxSize: size, maxAppend: append)
    let isKnown = 3...8 ~= version
    expectOffer(named, isKnown ? draft : nil)
    expectOffer(
      named.merging(tus) { $1 }, isKnown ? draft : UploadOffer(.tus, maxSize: size))
    expectOffer(
      ["accept-patch": "text/plain, Application/Partial-Upload;q=1"], UploadOffer(.draft(8)))
    expectOffer(["accept-patch": "text/plain"], nil)
    expectOffer(tus.filter { $0.key != "tus-extension" }, nil)
    expectOffer(tus.merging(["tus-version": "2.0.0"]) { $1 }, nil)
    expectOffer(
      tus.merging(["tus-max-size": "-\(size)"]) { $1 }, UploadOffer(.tus))
    let digits = String(of: "9", count: number(14...16))
    expectOffer(
      tus.merging(["tus-max-size": digits]) { $1 },
      UploadOffer(.tus, maxSize: digits.utf8.count < 16 ? Int(digits) : nil))
  }

  private mutating func tryTickets() {
    let bytes = (0...number(1...60)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    let isGzip = happens()
    let all = [UploadDialect.tus] + UploadDialect.versions.map { .draft($0) }
    let dialect = all[number(0...all.count - 1)]
    let ticket = UploadTicket(
      dialect, url: "http://a/\"\(number(0...9))", of: bytes, isGzip: isGzip)
    let read = try? UploadTicket.read(ticket.bytes)
    expect(read == ticket, "a ticket is read as \(read.map { "\($0)" } ?? "nothing")")
    expect(ticket.isFor(bytes, isGzip: isGzip), "a ticket is not for its own bytes")
    expect(!ticket.isFor(bytes, isGzip: !isGzip), "a ticket is for another coding")
    expect(!ticket.isFor(bytes + [0], isGzip: isGzip), "a ticket is for more bytes")
    var other = bytes
    other[number(0...bytes.count - 1)] ^= UInt8(1 << number(0...7))
    expect(!ticket.isFor(other, isGzip: isGzip), "a ticket is for other bytes")
    for odd in ["", "{}", #"{"protocol":"9","url":"a","size":1,"gzip":true,"sum":"1"}"#] {
      expect((try? UploadTicket.read(Array(odd.utf8))) == nil, "\(odd) is a ticket")
    }
  }

  private mutating func tryPlaces() {
    let path = "/u?\(number(0...99))"
    let url = "https://a.example:8443/api/sync"
    let most = String(of: "a", count: 2_047)
    let places: [(String, String?)] = [
      (path, "https://a.example:8443" + path),
      ("https://a.example:8443" + path, "https://a.example:8443" + path),
      ("https://a.example" + path, nil), ("//a.example:8443" + path, nil), ("u", nil), ("", nil),
      ("/a b", nil), ("/\\b", nil), ("/\u{7F}", nil),
      ("/" + most, "https://a.example:8443/" + most),
      ("/a" + most, nil), ("http://a.example:8443" + path, nil),
    ]
    for (location, place) in places {
      let reply = UploadReply(201, .tus, of: url) { $0 == "Location" ? location : nil }
      expect(reply.url == place, "the place \(location.prefix(40)) is \(reply.url ?? "none")")
    }
  }
}
