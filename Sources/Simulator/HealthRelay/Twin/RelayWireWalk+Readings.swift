import LinkWire

// What bytes are read as, beside what the account reads.
extension RelayWireWalk {
  typealias Reading<Value> = Result<Value, RelayWireError>

  mutating func compareBackend(_ found: Reading<BackendMessage>, of bytes: [UInt8]) {
    let must = Reading { () throws(RelayWireError) in try RelayWireReading.backend(bytes) }
    compare("\(Self.text(bytes)), read from a backend,", found, must)
  }

  mutating func comparePhone(_ found: Reading<PhoneMessage>, of bytes: [UInt8], _ most: Int) {
    let must = Reading { () throws(RelayWireError) in
      try RelayWireReading.phone(bytes, upTo: most)
    }
    compare("\(Self.text(bytes)), read from a phone,", found, must)
  }

  mutating func compareLeased(_ found: Reading<LeasedQuestions>, of bytes: [UInt8]) {
    let must = Reading { () throws(RelayWireError) in try RelayWireReading.leased(bytes) }
    compare("\(Self.text(bytes)), read as leased questions,", found, must)
  }

  mutating func compareResult(_ found: Reading<LeasedResult>, of bytes: [UInt8], _ most: Int) {
    let must = Reading { () throws(RelayWireError) in
      try RelayWireReading.result(bytes, upTo: most)
    }
    compare("\(Self.text(bytes)), read as a result,", found, must)
  }

  mutating func compareOrder(_ found: Reading<LeaseOrder>, of bytes: [UInt8]) {
    let must = Reading { () throws(RelayWireError) in try RelayWireReading.order(bytes) }
    compare("\(Self.text(bytes)), read as an order,", found, must)
  }

  mutating func compareEnding(_ found: Reading<AssistantsOrder>, of bytes: [UInt8]) {
    let must = Reading { () throws(RelayWireError) in try RelayWireReading.ending(bytes) }
    compare("\(Self.text(bytes)), read as an order of assistants,", found, must)
  }

  mutating func comparePaired(_ found: Reading<PairedAssistants>, of bytes: [UInt8]) {
    let must = Reading { () throws(RelayWireError) in try RelayWireReading.paired(bytes) }
    compare("\(Self.text(bytes)), read as a list of assistants,", found, must)
  }

  mutating func comparePush(_ found: Result<[String?], MessageError>, of bytes: [UInt8]) {
    let must = Result { () throws(MessageError) in try RelayWireReading.push(bytes) }
    // Errors of texts that are no JSON objects say where, which no account does.
    if case .failure(.malformed(detail: "")) = must, case .failure(.malformed) = found { return }
    compare("\(Self.text(bytes)), read as an address,", found, must)
  }
}
