-- fabemu: an add-on for Wireshark 4 that explains the frames of a fabric.
--
-- What it adds to Wireshark's own dissectors:
--
--   fabemu      the link trailer of a datagram (UDP, or a veth pair): run, port,
--               sequence, head, due; the frame in front of it is dissected as what
--               it is; each frame of a train
--   fabemu_fcp  flow control packets of InfiniBand: Wireshark's own dissector takes
--               some of them for packets
--   fabemu_data the 12 bytes that name the flow of a data frame on Ethernet, and the
--               body behind them as what it is; messages of schemes
--   cntag, cnm  congestion notification of IEEE 802.1Qau
--   rlt, bcn    Backward Congestion Notification: the rate-limited tag, the message
--   ctlos       control ordered sets of Ultra Ethernet: CF_Update, LLR_ACK and others
--   ccupdate    the counters of a CC_Update, which Wireshark shows as a MAC control frame
--   e2cm        Extended Ethernet Congestion Management: probes and their answers
--   uet         packets of Ultra Ethernet transport, UDP port 4793
--   fabemu_say  the names of nodes, FECN (of RoCEv2 and UET CE) and BECN, checksums (a preference), and
--               what follows from the order of frames: marks, credit and stalls for
--               want of it, gaps
--
-- "fabemu dissector install" puts it where Wireshark finds it.

set_plugin_info({ version = "1", description = "Frames of lossless fabrics" })

------------------------------------------------------------------------------
-- The protocols and their fields.

-- The headers: name, title and fields. Those of frames come from package wire. Of a field: its name behind the name of the
-- header, its title, the type of its value, its base (of a bool, how many bits its bytes have), and
--   mask      which bits of its bytes it is
--   bits      the same, if only the value of these bits is shown: the first and how many
--   at, size  its bytes in the header; without, code below shows it
--   le        the low byte comes first
--   names     of its values
--   text      more about it

-- The fields below are written by: go test ./emu/watch/capture/dissector -update
local headers = {
  { "fabemu_fcp", "InfiniBand flow control packet",
    { "op", "Operand", "uint8", base.DEC, bits = { 0, 4 }, at = 0, size = 1, names = { [0] = "normal", "init" } },
    { "fctbs", "FCTBS (blocks sent)", "uint16", base.DEC, bits = { 4, 12 }, at = 0, size = 2 },
    { "vl", "VL", "uint8", base.DEC, bits = { 0, 4 }, at = 2, size = 1 },
    { "fccl", "FCCL (credit limit in blocks)", "uint16", base.DEC, bits = { 4, 12 }, at = 2, size = 2 },
    { "lpcrc", "LPCRC", "uint16", base.HEX, at = 4, size = 2, le = true },
  },
  { "fabemu_data", "Data frame of fabemu",
    { "version", "Version", "uint8", base.DEC, at = 0, size = 1 },
    { "qp", "Queue pair (flow)", "uint24", base.DEC, at = 1, size = 3 },
    { "fecn", "Mark", "bool", 8, mask = 0x80, at = 4, size = 1 },
    { "psn", "Packet sequence number", "uint24", base.DEC, at = 5, size = 3 },
    { "payload", "Payload (bytes)", "uint16", base.DEC, at = 8, size = 2 },
    { "immediate", "Immediate data (tag of a message)", "uint32", base.DEC },
  },
  { "fabemu_data", "Message of a scheme",
    { "version", "Version", "uint8", base.DEC, at = 0, size = 1 },
    { "qp", "Queue pair (flow)", "uint24", base.DEC, at = 1, size = 3 },
    { "psn", "Packet sequence number", "uint24", base.DEC, at = 5, size = 3 },
    { "value", "Value of the message", "uint64", base.DEC, at = 8, size = 8 },
  },
  { "cntag", "Congestion notification tag",
    { "flow", "Flow identifier", "uint16", base.DEC, at = 0, size = 2 },
    { "type", "Type", "uint16", base.HEX, at = 2, size = 2 },
  },
  { "cnm", "Congestion notification message",
    { "version", "Version", "uint16", base.DEC, mask = 0xf000, at = 0, size = 2 },
    { "fb", "Quantised feedback", "uint16", base.DEC, mask = 0x3f, at = 0, size = 2 },
    { "cpid", "Congestion point", "uint64", base.HEX, at = 2, size = 8 },
    { "qoffset", "QOffset (64 octets)", "int16", base.DEC, at = 10, size = 2 },
    { "qdelta", "QDelta (64 octets)", "int16", base.DEC, at = 12, size = 2 },
    { "priority", "Priority of the sampled frame", "uint16", base.DEC, mask = 0xe000, at = 14, size = 2 },
    { "dst", "Destination of the sampled frame", "ether", at = 16, size = 6 },
    { "octets", "Octets of the sampled frame", "uint16", base.DEC, at = 22, size = 2 },
    { "msdu", "Sampled frame", "bytes", base.NONE },
    { "qp", "Queue pair (flow)", "uint24", base.DEC, text = "Of the sampled frame" },
    { "psn", "Packet sequence number", "uint24", base.DEC, text = "Of the sampled frame" },
  },
  { "rlt", "Rate-limited tag",
    { "version", "Version", "uint16", base.DEC, mask = 0xf000, at = 0, size = 2 },
    { "cpid", "Congestion point", "uint64", base.HEX, at = 2, size = 8 },
    { "flow", "Flow (hash)", "uint16", base.DEC, at = 10, size = 2 },
    { "type", "Type", "uint16", base.HEX, at = 12, size = 2 },
  },
  { "bcn", "Backward Congestion Notification",
    { "version", "Version", "uint8", base.DEC, at = 0, size = 1 },
    { "severe", "Severe congestion", "bool", 8, mask = 0x80, at = 1, size = 1 },
    { "mild", "Mild congestion", "bool", 8, mask = 0x40, at = 1, size = 1 },
    { "max", "Above the maximum", "bool", 8, mask = 0x20, at = 1, size = 1 },
    { "cpid", "Congestion point", "uint64", base.HEX, at = 2, size = 8 },
    { "qoff", "Qoff (64 octets)", "int16", base.DEC, at = 10, size = 2 },
    { "qdelta", "Qdelta (64 octets)", "int16", base.DEC, at = 12, size = 2 },
    { "timestamp", "Time stamp", "uint32", base.DEC, at = 14, size = 4 },
    { "bottleneck", "Rate of the bottleneck (10 Mb/s)", "uint16", base.DEC, at = 18, size = 2 },
    { "dst", "Destination of the sampled frame", "ether" },
    { "frame", "Sampled frame", "bytes", base.NONE },
    { "qp", "Queue pair (flow)", "uint24", base.DEC },
    { "psn", "Packet sequence number", "uint24", base.DEC },
  },
  { "e2cm", "Extended Ethernet Congestion Management",
    { "version", "Version", "uint8", base.DEC, at = 0, size = 1 },
    { "qp", "Queue pair (flow)", "uint24", base.DEC, at = 1, size = 3 },
    { "answer", "Answer", "bool", 8, mask = 0x80, at = 4, size = 1, text = "It has reached the destination, and returns" },
    { "counted", "Counted by the destination", "bool", 8, mask = 0x40, at = 4, size = 1 },
    { "psn", "Number of the probe", "uint24", base.DEC, at = 5, size = 3 },
    { "bytes", "Bytes of the flow", "uint64", base.DEC, at = 8, size = 8 },
    { "sent", "Sent (ps)", "uint64", base.DEC, at = 16, size = 8, text = "When the probe left its source" },
    { "came", "Came (ps)", "uint64", base.DEC, at = 24, size = 8, text = "When it came to the destination; of an answer" },
  },
  { "ctlos", "Control ordered set of Ultra Ethernet",
    { "type", "Type", "uint8", base.HEX, at = 1, size = 1 },
    { "seq", "Sequence number", "uint32", base.DEC },
    { "data", "Data of LLR_INIT", "uint16", base.HEX },
    { "vc", "Virtual channel", "uint8", base.DEC },
    { "cf", "Credits freed, modulo 32768", "uint16", base.DEC },
  },
  { "ccupdate", "CC_Update of Ultra Ethernet",
    { "vc", "Virtual channel", "uint8", base.DEC },
    { "cc", "Credits consumed, modulo 2^20", "uint32", base.DEC },
  },
}
-- end of the fields

headers[#headers + 1] = { "fabemu", "Link trailer of fabemu",
  { "secret", "Secret of the run", "bytes", base.NONE, at = 0, size = 16 },
  { "head", "Head (ps)", "uint64", base.DEC, at = 16, size = 8, text = "When the first bit left the sender's line, in model time" },
  { "due", "Due (ps)", "uint64", base.DEC, at = 24, size = 8, text = "When the receiver may act on the frame" },
  { "promise", "Promise (ps)", "uint64", base.DEC, at = 32, size = 8, text = "Nothing with an earlier due will follow" },
  { "duration", "Duration (ps)", "uint64", base.DEC, bits = { 0, 48 }, at = 40, size = 6, text = "How long the frame takes on the line" },
  { "length", "Length on the link", "uint16", base.DEC, at = 46, size = 2 },
  { "seq", "Sequence", "uint32", base.DEC, at = 48, size = 4 },
  { "run", "Run", "uint32", base.HEX, at = 52, size = 4 },
  { "port", "Port that sent", "uint16", base.DEC, at = 56, size = 2 },
  { "delimiter", "Frame", "uint8", base.DEC, bits = { 1, 7 }, at = 60, size = 1, names = { [0] = "none", "data packet", "link packet", "ethernet frame", "frame of a guest" } },
  { "version", "Version", "uint8", base.DEC },
  { "retry", "Sequence of link layer retry", "uint32", base.DEC, text = "From the preamble of the frame" },
}

headers[#headers + 1] = { "fabemu_say", "Added by fabemu",
  { "from", "From", "string", base.ASCII, text = "The machine whose LID or MAC the source is" },
  { "to", "To", "string", base.ASCII, text = "The machine whose LID or MAC the destination is" },
  { "fecn", "FECN", "bool" },
  { "becn", "BECN", "bool" },
  { "cnp", "Congestion notification packet (CNP)", "bool", base.NONE, text = "RoCEv2, operation code 0x81" },
  { "selected", "Selected", "uint24", base.DEC, text = "Of an ACK: a packet that has come ahead of its turn; RoCEv2, operation code 0xF1" },
  { "trimmed", "Trimmed", "bool", base.NONE, text = "A switch has cut the packet: its header of UDP still has the length that it had" },
  { "whole", "Length before it was cut (bytes)", "uint32", base.DEC, text = "Of the packet, with its header of IP" },
  { "sent", "Sent (ps)", "uint64", base.DEC, text = "The stamp: when the data packet left its source; RoCEv2, operation codes 0xC4 and 0xD1" },
  { "held", "Held (ps)", "uint64", base.DEC, text = "Of an ACK: how long the destination had it" },
  { "hop", "Telemetry of a switch", "uint8", base.DEC, text = "Its number on the path" },
  { "hop.time", "Time (ps)", "uint64", base.DEC, text = "When the packet began to leave; rounded to ns and modulo 2^24 ns, unless exact" },
  { "hop.sent", "Sent (bytes)", "uint64", base.DEC, text = "All that had left by the output; rounded to 128 bytes and modulo 2^27, unless exact" },
  { "hop.queue", "Queue (bytes)", "uint64", base.DEC, text = "All that waited behind the packet; rounded to 80 bytes, unless exact" },
  { "hop.rate", "Rate (kb/s)", "uint64", base.DEC },
  { "credit", "Credit left (blocks)", "uint16", base.DEC, text = "As the port says, or as far as this capture shows it" },
  { "crc_bad", "A checksum is wrong", "bool" },
}

-- Packets of Ultra Ethernet transport. A Wireshark that has such a protocol of its own keeps it.
local _, taken = pcall(Dissector.get, "uet")
local ultra = type(taken) == "userdata" and "fabemu_uet" or "uet"
local types = {
  [2] = "RUD_REQ", [3] = "ROD_REQ", [4] = "RUDI_REQ", [5] = "RUDI_RESP", [6] = "UUD_REQ", [7] = "ACK", [8] = "ACK_CC", [9] = "ACK_CCX",
  [10] = "NACK", [11] = "CTRL", [12] = "NACK_CCX", [13] = "RUD_CC_REQ", [14] = "ROD_CC_REQ",
}
local codes = { [0x01] = "TRIMMED", [0x02] = "TRIMMED_LASTHOP", [0x0B] = "PSN_OOR_WINDOW", [0x0D] = "ROD_OOO" }
local controls = { [6] = "probe", [7] = "credit", [8] = "credit request" }

headers[#headers + 1] = { ultra, "Ultra Ethernet transport",
  { "type", "Type", "uint16", base.DEC, mask = 0xf800, names = types },
  { "next", "Next header", "uint16", base.DEC, mask = 0x0780 },
  { "control", "Control type", "uint16", base.DEC, mask = 0x0780, names = controls },
  { "marked", "Marked", "bool", 16, mask = 0x0020, text = "Of an ACK or a NACK: the packet that it answers was" },
  { "again", "Retransmitted", "bool", 16, mask = 0x0010, text = "Of an ACK or a NACK: the packet that it answers was" },
  { "ackreq", "ACK requested", "bool", 16, mask = 0x0008 },
  { "probed", "Answer to a probe", "bool", 16, mask = 0x0008 },
  { "offset", "Offset", "int16", base.DEC, text = "From the PSN: of a request to the clear PSN, of an ACK to the packet that it answers; of a probe and its ACK any number" },
  { "code", "NACK code", "uint8", base.HEX, names = codes },
  { "psn", "Packet sequence number", "uint32", base.DEC, text = "Of an ACK: all packets up to it have come" },
  { "source", "Context of the sender", "uint16", base.HEX },
  { "destination", "Context of the receiver", "uint16", base.HEX },
  { "qp", "Flow", "uint24", base.DEC, text = "As the contexts name it" },
  { "clear", "Clear PSN", "uint32", base.DEC, text = "The packet before the first that the source does not know to have come" },
  { "answers", "Packet that it answers", "uint32", base.DEC },
  { "amount", "Credit (256 bytes)", "uint32", base.DEC, mask = 0xffffff, text = "A sum, modulo 2^24: of a request the target, of a control packet what is granted or asked for" },
  { "bitmap.offset", "Offset of the bitmap", "int16", base.DEC },
  { "bitmap", "Bitmap", "uint64", base.HEX, text = "The lowest bit is the first packet" },
  { "bitmap.first", "First packet of the bitmap", "uint32", base.DEC, text = "Of a probe: of the bitmap that its ACK is to have" },
  { "selected", "Packet that has come ahead of its turn", "uint32", base.DEC, text = "Each one of the bitmap behind the PSN" },
  { "early", "Packets that wait for an earlier one", "uint16", base.DEC },
  { "ses.operation", "Operation", "uint8", base.DEC, mask = 0x3f, names = { [5] = "SEND" } },
  { "ses.complete", "Delivery complete", "bool", 8, mask = 0x20, text = "The last packet of a transfer" },
  { "ses.length", "Length (bytes)", "uint16", base.DEC, mask = 0x3fff },
  { "ses.data", "Header data (tag of a message)", "uint64", base.DEC },
}

-- protocol returns a protocol, its fields by their names, and its headers: fabemu_data has two.
local function protocol(name)
  local p, own, all, found = nil, {}, {}, {}
  for _, h in ipairs(headers) do
    if h[1] == name then
      p = p or Proto(name, h[2])
      found[#found + 1] = h
      for i = 3, #h do
        local f = h[i]
        if not own[f[1]] then
          local make, abbr = ProtoField[f[3]], name .. "." .. f[1]
          if f[3] == "string" or f[3] == "bytes" then
            own[f[1]] = make(abbr, f[2], f[4], f.text)
          elseif f[4] then
            own[f[1]] = make(abbr, f[2], f[4], f.names, f.mask, f.text)
          else
            own[f[1]] = make(abbr, f[2])
          end
          all[#all + 1] = own[f[1]]
        end
        f.field, h[f[1]] = own[f[1]], f
      end
    end
  end
  p.fields = all
  return p, own, found[1], found[2]
end

-- show adds the fields of a header that have a place in it.
local function show(tree, header, tvb)
  for i = 3, #header do
    local f = header[i]
    if f.size then
      local range = tvb(f.at, f.size)
      if f.bits then
        tree:add(f.field, range, range:bitfield(f.bits[1], f.bits[2]))
      elseif f.le then
        tree:add_le(f.field, range)
      else
        tree:add(f.field, range)
      end
    end
  end
end

local link, t, trailer_header = protocol("fabemu")
local fcp, _, fcp_header = protocol("fabemu_fcp")
local data, d, data_header, message_header = protocol("fabemu_data")
local cntag, _, cntag_header = protocol("cntag")
local cnm, m, cnm_header = protocol("cnm")
local rlt, _, rlt_header = protocol("rlt")
local bcn, n, bcn_header = protocol("bcn")
local e2cm, _, e2cm_header = protocol("e2cm")
local ctlos, o, ctlos_header = protocol("ctlos")
local ccupdate, cu = protocol("ccupdate")
local uet, u, uet_header = protocol(ultra)
local say, s = protocol("fabemu_say")

local x = {
  mark = ProtoExpert.new("fabemu_say.mark", "Marked: it met congestion", expert.group.SEQUENCE, expert.severity.NOTE),
  stall = ProtoExpert.new("fabemu_say.stall", "Credit stall: there is none for another frame of this size", expert.group.SEQUENCE, expert.severity.NOTE),
  gap = ProtoExpert.new("fabemu_say.gap", "Sequence gap", expert.group.SEQUENCE, expert.severity.WARN),
  crc = ProtoExpert.new("fabemu_say.crc", "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR),
}
say.experts = { x.mark, x.stall, x.gap, x.crc }
say.prefs.crc = Pref.bool("Verify ICRC, VCRC and LPCRC", false, "Takes about a millisecond a packet")

------------------------------------------------------------------------------
-- Checksums.

local bxor, band, bnot, rshift = bit.bxor, bit.band, bit.bnot, bit.rshift

local function crc_table(polynomial)
  local list = {}
  for v = 0, 255 do
    local c = v
    for _ = 1, 8 do
      if band(c, 1) == 1 then c = bxor(rshift(c, 1), polynomial) else c = rshift(c, 1) end
    end
    list[v] = c
  end
  return list
end

local crc32, crc16 = crc_table(0xEDB88320), crc_table(0xD008)

-- crc returns the checksum of bytes first to last - 1, with the bits of mask[i] set
-- in byte i.
local function crc(list, start, bytes, first, last, mask)
  local c = start
  for i = first, last - 1 do
    local v = bytes:get_index(i)
    if mask and mask[i] then v = bit.bor(v, mask[i]) end
    c = bxor(rshift(c, 8), list[band(bxor(c, v), 255)])
  end
  return bxor(c, start)
end

local local_mask = { [0] = 0xF0, [12] = 0xFF }
local global_mask = { [12 + 40] = 0xFF }
for i = 0, 7 do global_mask[i] = 0xFF end
global_mask[8] = 0x0F
for i = 9, 11 do global_mask[i] = 0xFF end
global_mask[15] = 0xFF

-- wrong_crcs says which checksums of a packet from its LRH on are wrong; nil: none.
local function wrong_crcs(bytes)
  local n = bytes:len()
  if n < 26 then return nil end
  local size = band(bytes:get_index(4) * 256 + bytes:get_index(5), 0x7FF) * 4 + 2
  if size > n or size < 26 then return nil end -- not all of it was captured
  local words = {}
  local lnh = band(bytes:get_index(1), 3)
  if lnh >= 2 then
    local want = crc(crc32, 0xFFFFFFFF, bytes, 0, size - 6, lnh == 2 and local_mask or global_mask)
    for i = 0, 3 do
      if band(rshift(want, 8 * i), 255) ~= bytes:get_index(size - 6 + i) then words[1] = "ICRC" break end
    end
  end
  local want = crc(crc16, 0xFFFF, bytes, 0, size - 2)
  if band(want, 255) ~= bytes:get_index(size - 2) or rshift(want, 8) ~= bytes:get_index(size - 1) then
    words[#words + 1] = "VCRC"
  end
  if #words > 0 then return table.concat(words, ", ") end
end

------------------------------------------------------------------------------
-- What follows from the order of frames. It is found out the first time that a
-- frame is seen, and kept by its number.

local found, sequences, lanes, trailers, nodes

local function forget()
  found, sequences, lanes, trailers, nodes = {}, {}, {}, {}, {}
end
forget()
say.init = forget

local function note(pinfo)
  local n = found[pinfo.number]
  if not n then n = {} found[pinfo.number] = n end
  return n
end

-- follow notes a gap if n is not the one after the last of the same key. Packets may
-- be sent again, and are no gap then.
local function follow(pinfo, key, n, modulus, what, again)
  if pinfo.visited then return end
  local last = sequences[key]
  local ahead = last and (n - last - 1) % modulus or 0
  if ahead ~= 0 and not (again and ahead >= modulus / 2) then
    note(pinfo).gap = string.format("%s %d comes after %d", what, n, last)
  end
  sequences[key] = n
end

local function lane(key, vl)
  local k = key .. "/" .. vl
  local l = lanes[k]
  if not l then l = {} lanes[k] = l end
  return l
end

-- spend notes what credit is left at a port behind a packet of n bytes: what the port
-- says itself, or else what follows from the packets before.
local function spend(pinfo, key, vl, n, said)
  if pinfo.visited then return end
  local l = lane(key, vl)
  local blocks = math.floor((n + 63) / 64)
  local left = said
  if l.sent and l.limit then
    l.sent = (l.sent + blocks) % 4096
    left = said or (l.limit - l.sent) % 4096
  end
  if not left then return end
  if left > 2048 then left = 0 end
  note(pinfo).left = left
  if left < blocks then note(pinfo).stall = string.format("%d blocks are left, this frame took %d", left, blocks) end
end

------------------------------------------------------------------------------
-- Flow control packets.

local interface = Field.new("frame.interface_id")
local direction = Field.new("frame.packet_flags_direction")

-- here returns the key of the interface that has seen a frame, and whether the
-- frame went out; nil if the capture does not say.
local function here()
  local i, way = interface(), direction()
  if not i or not way then return nil end
  local w = way.value
  if w == 2 then return "i" .. i.value, true end
  if w == 1 then return "i" .. i.value, false end
end

local function dissect_fcp(tvb, pinfo, tree, port)
  if tvb:len() < 6 then return 0 end
  local b = tvb(0, 6)
  local op, fctbs = tvb(0, 1):uint(), band(tvb(0, 2):uint(), 0xFFF)
  local vl, fccl = tvb(2, 1):uint(), band(tvb(2, 2):uint(), 0xFFF)
  op, vl = rshift(op, 4), rshift(vl, 4)
  local sub = tree:add(fcp, b)
  show(sub, fcp_header, tvb)
  pinfo.cols.protocol = "IB flow control"
  pinfo.cols.info = string.format("Flow control, %s, VL %d: FCTBS %d, FCCL %d", fcp_header.op.names[op] or "reserved", vl, fctbs, fccl)
  if say.prefs.crc then
    local want = crc(crc16, 0xFFFF, b:bytes(), 0, 4)
    if want ~= tvb(4, 2):le_uint() then
      sub:add_proto_expert_info(x.crc, "LPCRC is wrong")
      sub:add(s.crc_bad, true):set_generated()
    end
  end
  if not pinfo.visited then
    if port then -- its number is even at one end of a link, odd at the other
      lane(port.run .. ":" .. port.number, vl).sent = fctbs
      lane(port.run .. ":" .. bxor(port.number, 1), vl).limit = fccl
    else
      local key, out = here()
      if key and out then lane(key, vl).sent = fctbs end
      if key and not out then
        local l = lane(key, vl)
        if op == 1 and not l.sent then l.sent = 0 end -- nothing is sent before it
        l.limit = fccl
      end
    end
  end
  return tvb:len()
end

function fcp.dissector(tvb, pinfo, tree) return dissect_fcp(tvb, pinfo, tree) end

------------------------------------------------------------------------------
-- The link trailer.

local trailer_size = 64
local preamble_size = 8 -- in front of the trailer, on a link with retry

local function has_trailer(tvb)
  local n = tvb:len()
  if n < trailer_size then return false end
  local w = tvb(n - 4, 4)
  local what, size = w(0, 1):uint(), trailer_size
  if what >= 128 then what, size = what - 128, size + preamble_size end
  return w(2, 2):uint() == 0xFAB1 and w(1, 1):uint() == 2 and what >= 1 and what <= 4 and n >= size, what, size
end

-- add_trailer shows the trailer at the end of tvb, and says which port has sent.
local function add_trailer(tvb, pinfo, tree)
  local b = tvb(tvb:len() - trailer_size, trailer_size)
  local run, number, seq = b(52, 4):uint(), b(56, 2):uint(), b(48, 4):uint()
  local sub = tree:add(link, b, string.format("Link trailer of fabemu: run %08x, port %d, sequence %d, due %s ps", run, number, seq, tostring(b(24, 8):uint64())))
  show(sub, trailer_header, b)
  if b(60, 1):uint() >= 128 then
    local p = tvb(tvb:len() - trailer_size - preamble_size, preamble_size)
    sub:add(t.retry, p(1, 3), p(1, 3):uint() % 1048576)
  end
  sub:add(t.version, b(61, 1))
  follow(pinfo, string.format("t%08x:%d", run, number), seq, 4294967296, "sequence")
  trailers[pinfo.number] = { run = run, number = number, guest = b(60, 1):uint() % 128 == 4 }
  return trailers[pinfo.number]
end

local infiniband = Dissector.get("infiniband")
local ethernet = Dissector.get("eth_withfcs")

-- native hands a frame to a dissector of Wireshark. If the frame ends too early for it,
-- it says so in the tree, and throws an error that is none of ours.
local function native(dissector, frame, pinfo, tree)
  pcall(dissector.call, dissector, frame, pinfo, tree)
end

-- whole dissects a datagram: a frame and its trailer.
local function whole(tvb, pinfo, tree)
  local ours, what, size = has_trailer(tvb)
  if not ours then return false end
  local port = add_trailer(tvb, pinfo, tree)
  local n = tvb:len() - size
  if n == 0 then return true end
  local frame = tvb(0, n):tvb()
  if what == 1 then
    native(infiniband, frame, pinfo, tree)
  elseif what == 2 then
    dissect_fcp(frame, pinfo, tree, port)
  else
    native(ethernet, frame, pinfo, tree)
  end
  return true
end

-- train dissects a packet of UDP or of a veth pair: a datagram, or a train of them. After the datagrams of a train come the length of
-- each in two bytes, their number in one, and a zero.
local function train(tvb, pinfo, tree)
  local size = tvb:reported_length_remaining()
  if size ~= tvb:len() or size < 2 or tvb(size - 1, 1):uint() ~= 0 then return whole(tvb, pinfo, tree) end
  local n = tvb(size - 2, 1):uint()
  local lengths = size - 2 - 2 * n
  local frames, at = {}, 0
  for i = 1, n do
    local length = lengths >= 0 and tvb(lengths + 2 * i - 2, 2):uint() or 0
    if length == 0 or at + length > lengths then return false end
    frames[i] = tvb(at, length)
    at = at + length
  end
  if n == 0 or at ~= lengths or not has_trailer(frames[1]:tvb()) then return false end
  for i, frame in ipairs(frames) do
    local sub = tree:add(link, frame, string.format("Frame %d of %d in a train", i, n))
    whole(frame:tvb(), pinfo, sub)
  end
  pinfo.cols.info:clear_fence()
  pinfo.cols.info = string.format("Train of %d frames", n)
  return true
end

function link.dissector(tvb, pinfo, tree)
  if train(tvb, pinfo, tree) then return tvb:len() end
  return 0
end

------------------------------------------------------------------------------
-- Ethernet.

local ethertype = DissectorTable.get("ethertype")

-- The counters of a CF_Update and the sequence numbers of the retry at the link.
local sets = { [0x01] = "LLR_ACK", [0x02] = "LLR_NACK", [0x03] = "LLR_INIT", [0x04] = "LLR_INIT_ECHO", [0x10] = "CF_Update" }

function ctlos.dissector(tvb, pinfo, tree)
  local sub = tree:add(ctlos, tvb(0, 8))
  local kind = tvb(1, 1):uint()
  local first, second = rshift(tvb(2, 3):uint(), 4), tvb(5, 3):uint()
  show(sub, ctlos_header, tvb)
  local info = string.format("%s %d", sets[kind] or "Control ordered set", first)
  if kind == 0x10 then
    info = "CF_Update"
    for i, word in ipairs({ first, rshift(second, 4) }) do
      local at = tvb(3 * i - 1, 3)
      sub:add(o.vc, at, rshift(word, 15))
      sub:add(o.cf, at, band(word, 0x7FFF))
      info = string.format("%s, channel %d: %d freed", info, rshift(word, 15), band(word, 0x7FFF))
    end
  else
    sub:add(o.seq, tvb(2, 3), first)
    if kind > 2 then sub:add_le(o.data, tvb(5, 2)) end
  end
  pinfo.cols.protocol = "CtlOS"
  pinfo.cols.info = info
  return tvb:len()
end

-- A CC_Update is a MAC control frame of the Ultra Ethernet Consortium. It has the counters of 16 channels, of which
-- the list has those that are not zero.
local control = ethertype:get_dissector(0x8808)

function ccupdate.dissector(tvb, pinfo, tree)
  control:call(tvb, pinfo, tree)
  if tvb:len() < 46 or tvb(0, 2):uint() ~= 0xFFFE or tvb(2, 3):uint() ~= 0xFA7ACB then return tvb:len() end
  local sub, first = tree:add(ccupdate, tvb(2, 44)), 16 * (tvb(5, 1):uint() - 1)
  pinfo.cols.protocol = "CC_Update"
  local info = "CC_Update"
  for i = 0, 15 do
    local at = tvb(6 + math.floor(i / 2) * 5 + i % 2 * 2, 3)
    local consumed = i % 2 == 0 and rshift(at:uint(), 4) or band(at:uint(), 0xFFFFF)
    if consumed ~= 0 then
      sub:add(cu.vc, at, first + i)
      sub:add(cu.cc, at, consumed)
      info = string.format("%s, channel %d: %d consumed", info, first + i, consumed)
    end
  end
  pinfo.cols.info = info
  return tvb:len()
end

-- dissect_message dissects what a scheme says in its own frames.
local function dissect_message(tvb, pinfo, tree)
  if tvb:len() < 16 then return 0 end
  local sub = tree:add(data, tvb(0, 16), message_header[2])
  show(sub, message_header, tvb)
  pinfo.cols.protocol = "fabemu message"
  pinfo.cols.info = string.format("Message, flow %d, PSN %d, value %s", tvb(1, 3):uint(), tvb(5, 3):uint(), tostring(tvb(8, 8):uint64()))
  return tvb:len()
end

function e2cm.dissector(tvb, pinfo, tree)
  local sub = tree:add(e2cm, tvb(0, 32))
  show(sub, e2cm_header, tvb)
  local what = band(tvb(4, 1):uint(), 0x80) ~= 0 and "Answer to probe" or "Probe"
  pinfo.cols.protocol = "E2CM"
  pinfo.cols.info = string.format("%s %d of flow %d, %s bytes", what, tvb(5, 3):uint(), tvb(1, 3):uint(), tostring(tvb(8, 8):uint64()))
  return tvb:len()
end

-- What has the EtherType of data says by its version what it is.
function data.dissector(tvb, pinfo, tree)
  if tvb:len() >= 8 and tvb(0, 1):uint() == 0x5C then return ctlos.dissector(tvb, pinfo, tree) end
  if tvb:len() >= 32 and tvb(0, 1):uint() == 4 then return e2cm.dissector(tvb, pinfo, tree) end
  if tvb:len() >= 20 and tvb(0, 1):uint() == 2 then return bcn.dissector(tvb, pinfo, tree) end
  if tvb:len() > 0 and tvb(0, 1):uint() == 3 then return dissect_message(tvb, pinfo, tree) end
  if tvb:len() < 12 or tvb(0, 1):uint() ~= 1 then return 0 end
  local sub = tree:add(data, tvb(0, 12))
  show(sub, data_header, tvb)
  if band(tvb(4, 1):uint(), 0x20) ~= 0 and tvb:len() >= 16 then sub:add(d.immediate, tvb(12, 4)) end
  pinfo.cols.protocol = "fabemu data"
  pinfo.cols.info = string.format("Data, flow %d, PSN %d, %d bytes%s", tvb(1, 3):uint(), tvb(5, 3):uint(), tvb(8, 2):uint(), band(tvb(4, 1):uint(), 0x80) ~= 0 and ", marked" or "")
  return tvb:len()
end

function cntag.dissector(tvb, pinfo, tree)
  if tvb:len() < 4 then return 0 end
  local sub = tree:add(cntag, tvb(0, 4))
  show(sub, cntag_header, tvb)
  ethertype:try(tvb(2, 2):uint(), tvb(4):tvb(), pinfo, tree)
  return tvb:len()
end

-- The queue pair and the PSN of a sampled frame, which is given from its EtherType on; nothing if
-- it has none, as a TCP segment, or is cut in front of them.
local function flow_of(tvb)
  local len = tvb:len()
  if len < 12 then return end
  local kind, qp = tvb(0, 2):uint(), 3
  if kind == 0x0800 and tvb(11, 1):uint() == 17 then
    qp = 2 + 20 + 8 + 5
  elseif kind == 0x86DD then
    qp = 2 + 40 + 8 + 5
  elseif kind ~= 0x88B5 then
    return
  end
  if len >= qp + 7 then return tvb(qp, 3), tvb(qp + 4, 3) end
end

function cnm.dissector(tvb, pinfo, tree)
  if tvb:len() < 24 then return 0 end
  local octets = tvb(22, 2):uint()
  local sub = tree:add(cnm, tvb(0, math.min(24 + octets, tvb:len())))
  show(sub, cnm_header, tvb)
  if octets > 0 and tvb:len() >= 24 + octets then
    sub:add(m.msdu, tvb(24, octets))
    local qp, psn = flow_of(tvb(24, octets))
    if qp then
      sub:add(m.qp, qp)
      sub:add(m.psn, psn)
    end
  end
  pinfo.cols.protocol = "CNM"
  pinfo.cols.info = string.format("Congestion notification: Fb %d, QOffset %d, QDelta %d, CPID %s", band(tvb(0, 2):uint(), 0x3F), tvb(10, 2):int(), tvb(12, 2):int(), tostring(tvb(2, 8):bytes()))
  return tvb:len()
end

function rlt.dissector(tvb, pinfo, tree)
  if tvb:len() < 14 then return 0 end
  local sub = tree:add(rlt, tvb(0, 14))
  show(sub, rlt_header, tvb)
  ethertype:try(tvb(12, 2):uint(), tvb(14):tvb(), pinfo, tree)
  return tvb:len()
end

function bcn.dissector(tvb, pinfo, tree)
  local sampled = 64
  if tvb:len() >= 38 and tvb(36, 2):uint() == 0x86DD then sampled = 78 end
  local size = math.min(20 + sampled, tvb:len())
  local sub = tree:add(bcn, tvb(0, size))
  show(sub, bcn_header, tvb)
  local flow = ""
  if size > 20 then sub:add(n.frame, tvb(20, size - 20)) end
  if size >= 46 then
    sub:add(n.dst, tvb(20, 6))
    local qp, psn = flow_of(tvb(36, size - 36))
    if qp then
      sub:add(n.qp, qp)
      sub:add(n.psn, psn)
      flow = string.format("flow %d, PSN %d, ", qp:uint(), psn:uint())
    end
  end
  pinfo.cols.protocol = "BCN"
  pinfo.cols.info = string.format("Backward congestion notification: %sQoff %d, Qdelta %d, CPID %s", flow, tvb(10, 2):int(), tvb(12, 2):int(), tostring(tvb(2, 8):bytes()))
  return tvb:len()
end

------------------------------------------------------------------------------
-- Ultra Ethernet transport.

-- psn_of returns the PSN that is so far from another.
local function psn_of(psn, offset) return (psn + offset) % 4294967296 end

-- dissect_ses shows what there is of the header of the semantic sublayer of a request of one packet.
local function dissect_ses(sub, tvb)
  if tvb:len() < 4 then return "" end
  sub:add(u["ses.operation"], tvb(0, 1))
  sub:add(u["ses.complete"], tvb(1, 1))
  sub:add(u["ses.length"], tvb(2, 2))
  local flags, words = tvb(1, 1):uint(), string.format(", %d bytes", band(tvb(2, 2):uint(), 0x3FFF))
  if band(flags, 4) ~= 0 and tvb:len() >= 20 then sub:add(u["ses.data"], tvb(12, 8)) end
  return words .. (band(flags, 0x20) ~= 0 and ", the last one" or "")
end

-- dissect_bitmap shows which packets an ACK says to have come.
local function dissect_bitmap(sub, tvb, psn)
  local first, selected = psn_of(psn, tvb(2, 2):int()), 0
  sub:add(u["bitmap.offset"], tvb(2, 2))
  local tree = sub:add(u.bitmap, tvb(4, 8))
  tree:add(u["bitmap.first"], tvb(2, 2), first):set_generated()
  for i = 0, 63 do -- the lowest bit is the last of the last byte
    local octet, n = tvb(4 + 7 - math.floor(i / 8), 1), psn_of(first, i)
    local ahead = psn_of(n, -psn)
    if band(rshift(octet:uint(), i % 8), 1) == 1 and ahead > 0 and ahead < 2147483648 then
      tree:add(u.selected, octet, n):set_generated()
      selected = selected + 1
    end
  end
  sub:add(u.early, tvb(18, 2))
  return selected > 0 and string.format(" and %d ahead", selected) or ""
end

local comment = Field.new("frame.comment")

-- of_guest reports whether a frame is a guest's, whose packets are not those of a flow.
local function of_guest(pinfo)
  for _, c in ipairs({ comment() }) do
    if tostring(c.value):sub(1, 7) == "guest: " then return true end
  end
  return trailers[pinfo.number] ~= nil and trailers[pinfo.number].guest
end

-- what each type has behind the first 12 bytes, at least
local least = { [2] = 0, [3] = 0, [7] = 0, [8] = 20, [10] = 4, [11] = 4, [13] = 4, [14] = 4 }

function uet.dissector(tvb, pinfo, tree)
  if tvb:len() < 12 then return 0 end
  local first, psn, offset = tvb(0, 2):uint(), tvb(4, 4):uint(), tvb(2, 2):int()
  local kind = rshift(first, 11)
  if not least[kind] or tvb:len() < 12 + least[kind] then return 0 end
  local request = kind < 4 or kind > 12
  local sub = tree:add(uet, tvb(0, 12 + least[kind]))
  local name = types[kind]
  local function flag(f) sub:add(u[f], tvb(0, 2)) return band(first, uet_header[f].mask) ~= 0 end
  flag("type")
  flag(kind == 11 and "control" or "next")
  local marked = not request and kind ~= 11 and flag("marked")
  local again, asked = flag("again"), flag((kind == 7 or kind == 8) and "probed" or "ackreq")
  if kind == 10 then
    sub:add(u.code, tvb(2, 1))
  else
    sub:add(u.offset, tvb(2, 2))
  end
  sub:add(u.psn, tvb(4, 4))
  sub:add(u.source, tvb(8, 2))
  sub:add(u.destination, tvb(10, 2))
  local control = kind == 11 and band(rshift(first, 7), 15)
  local here, there = tvb(8, 2):uint(), tvb(10, 2):uint()
  if not request and (kind ~= 11 or control == 7) then here, there = there, here end -- it goes back
  local flow, words = "", ""
  if not of_guest(pinfo) then
    local qp = band(here, 0x7FFF) + band(there, 0x1FF) * 32768
    sub:add(u.qp, tvb(8, 4), qp):set_generated()
    flow = string.format(", flow %d", qp)
  end
  if request then
    sub:add(u.clear, tvb(2, 2), psn_of(psn, offset)):set_generated()
    if kind > 12 then
      sub:add(u.amount, tvb(12, 4))
      words = string.format(", credit target %d", band(tvb(12, 4):uint(), 0xFFFFFF))
    end
    local at = 12 + least[kind]
    if tvb:len() > at then words = dissect_ses(sub, tvb(at):tvb()) .. words end
    if asked then words = words .. ", asks for an ACK" end
  elseif kind == 10 then
    words = ", " .. (codes[tvb(2, 1):uint()] or string.format("code 0x%02x", tvb(2, 1):uint()))
  elseif kind == 11 then
    name = controls[control] or string.format("CTRL %d", control)
    name = name:sub(1, 1):upper() .. name:sub(2)
    if control == 6 then
      sub:add(u["bitmap.first"], tvb(12, 4))
    elseif control == 7 or control == 8 then
      sub:add(u.amount, tvb(12, 4))
      words = string.format(", %d", band(tvb(12, 4):uint(), 0xFFFFFF))
    end
  else
    if kind == 8 then words = dissect_bitmap(sub, tvb(12):tvb(), psn) end
    if asked then
      words = words .. ", answers a probe"
    else
      sub:add(u.answers, tvb(2, 2), psn_of(psn, offset)):set_generated()
      words = words .. string.format(", answers %d", psn_of(psn, offset))
    end
  end
  if marked then words = words .. ", marked" end
  if again then words = words .. ", retransmitted" end
  pinfo.cols.protocol = "UET"
  pinfo.cols.info = string.format("%s%s, PSN %d%s", name, flow, psn, words)
  return tvb:len()
end

------------------------------------------------------------------------------
-- Behind all other dissectors.

-- telemetry shows the entries of a packet: b is its header.
local rates = { [0] = 25, 50, 100, 200, 400, 10, 40, 800 } -- Gb/s, by code
local function telemetry(sub, b)
  local exact = b(0, 1):uint() == 2
  local size = exact and 24 or 8
  for n = 0, math.min(b(1, 1):uint(), 5) - 1 do
    local e = b(4 + n * size, size)
    local hop = sub:add(s.hop, e, n + 1)
    if exact then
      hop:add(s["hop.time"], e(0, 8))
      hop:add(s["hop.sent"], e(8, 8))
      hop:add(s["hop.queue"], e(16, 4), UInt64(e(16, 4):uint()))
      hop:add(s["hop.rate"], e(20, 4), UInt64(e(20, 4):uint()))
    else
      hop:add(s["hop.time"], e(0, 4), UInt64(e:bitfield(3, 24)) * 1000)
      hop:add(s["hop.sent"], e(3, 4), UInt64(e:bitfield(27, 20)) * 128)
      hop:add(s["hop.queue"], e(5, 3), UInt64(e:bitfield(47, 17)) * 80)
      hop:add(s["hop.rate"], e(0, 1), UInt64(rates[e:bitfield(0, 3)]) * 1000000)
    end
  end
end

local bth, lrh = Field.new("infiniband.bth"), Field.new("infiniband.lrh")
local vl, words = Field.new("infiniband.lrh.vl"), Field.new("infiniband.lrh.pktlen")
local qp, psn, opcode = Field.new("infiniband.bth.destqp"), Field.new("infiniband.bth.psn"), Field.new("infiniband.bth.opcode")
local packet = Field.new("infiniband")
local vendor = Field.new("infiniband.vendor")
local ecn, ecn6 = Field.new("ip.dsfield.ecn"), Field.new("ipv6.tclass.ecn")
local ip_length, ip6_length, udp_length = Field.new("ip.len"), Field.new("ipv6.plen"), Field.new("udp.length")
local mark_of_data, qp_of_data, psn_of_data = Field.new("fabemu_data.fecn"), Field.new("fabemu_data.qp"), Field.new("fabemu_data.psn")
local notified = Field.new("cnm.fb")
local pds, pds_marked, pds_psn, pds_qp = Field.new(ultra .. ".type"), Field.new(ultra .. ".marked"), Field.new(ultra .. ".psn"), Field.new(ultra .. ".qp")
local slid, dlid = Field.new("infiniband.lrh.slid"), Field.new("infiniband.lrh.dlid")
local eth_src, eth_dst = Field.new("eth.src"), Field.new("eth.dst")

-- read_comments takes in the names of nodes, with which the first record of a capture
-- comes, and returns what credit a record says to be left.
local function read_comments(pinfo)
  local credit
  for _, c in ipairs({ comment() }) do
    local text = tostring(c.value)
    credit = tonumber(text:match("credit (%d+) blocks")) or credit
    if not pinfo.visited and text:sub(1, 9) == "machines " then
      for number, name in text:sub(10):gmatch("(%d+) ([^,]+)") do nodes[tonumber(number)] = name end
    end
  end
  return credit
end

-- lid_of returns the LID that an address of Ethernet holds, which is a machine's.
local function lid_of(address)
  if not address then return nil end
  local last = address.range:bytes():tohex():lower():match("^02000000(%x%x%x%x)$")
  return last and tonumber(last, 16)
end

-- add_nodes shows between which nodes a frame goes.
local function add_nodes(tree)
  local from, to = slid(), dlid()
  if from then
    from, to = from.value, to.value
  else
    local sources, destinations = { eth_src() }, { eth_dst() } -- the last is the frame's own
    from, to = lid_of(sources[#sources]), lid_of(destinations[#destinations])
  end
  if nodes[from] then tree:add(s.from, nodes[from]):set_generated() end
  if nodes[to] then tree:add(s.to, nodes[to]):set_generated() end
end

-- cut returns how long a packet was that a switch has trimmed. A datagram around it is none.
local function cut()
  local udp, ip, ip6 = { udp_length() }, { ip_length() }, { ip6_length() }
  local length = #udp > 0 and udp[#udp].value or 0
  if #ip6 > 0 and (#ip == 0 or ip6[#ip6].offset > ip[#ip].offset) then
    return length > ip6[#ip6].value and length + 40
  end
  return #ip > 0 and length + 20 > ip[#ip].value and length + 20
end

-- congested reports whether a packet of IP has CE, the mark of RoCEv2 and of Ultra Ethernet transport.
local function congested()
  for _, fields in ipairs({ { ecn() }, { ecn6() } }) do
    for _, field in ipairs(fields) do
      if field.value == 3 then return true end
    end
  end
  return false
end

function say.dissector(tvb, pinfo, tree)
  local port = trailers[pinfo.number]
  if not port and has_trailer(tvb) then -- an Ethernet frame on a veth pair
    port = add_trailer(tvb, pinfo, tree)
  end
  local header, marked = bth(), false
  local said = read_comments(pinfo)
  local key, out
  if port then key, out = port.run .. ":" .. port.number, true else key, out = here() end
  local sub
  if next(nodes) then
    sub = tree:add(say):set_generated()
    add_nodes(sub)
  end
  if header then
    sub = sub or tree:add(say):set_generated()
    local v = header.range(4, 1):uint()
    marked = band(v, 0x80) ~= 0
    marked = marked or not lrh() and congested()
    sub:add(s.fecn, header.range(4, 1), marked)
    sub:add(s.becn, header.range(4, 1), band(v, 0x40) ~= 0)
    local cnp = not lrh() and opcode().value == 0x81
    if cnp then -- Wireshark has no name for it
      sub:add(s.cnp, header.range(0, 1), true)
      pinfo.cols.info:clear_fence()
      pinfo.cols.info = string.format("CNP (congestion notification) QP=0x%06x", qp().value)
    end
    local whole = not lrh() and not of_guest(pinfo) and cut()
    if whole then
      sub:add(s.trimmed, true)
      sub:add(s.whole, whole)
      pinfo.cols.info:clear_fence()
      pinfo.cols.info = string.format("Trimmed, was %d bytes QP=0x%06x PSN %d", whole, qp().value, psn().value)
    end
    local own = { [0xC4] = "RC SEND only", [0xD1] = "RC ACK", [0xF1] = "RC ACK" }
    local all, name = { vendor() }, not lrh() and own[opcode().value]
    local header = all[#all] -- the whole of it comes last
    if name and header and header.len >= 4 then
      local at, stamped, what = 0, true, " with a stamp"
      if opcode().value == 0xF1 then -- an ACK that names a packet, and may have a stamp behind
        at, stamped = 4, header.range(0, 1):uint() == 1
        sub:add(s.selected, header.range(1, 3))
        what = string.format(" and of packet %d", header.range(1, 3):uint())
      end
      local size = opcode().value == 0xC4 and 12 or 20
      if stamped and header.len >= at + size then
        sub:add(s.sent, header.range(at + 4, 8))
        if size == 20 then sub:add(s.held, header.range(at + 12, 8)) end
        local words = header.range(at, 1):uint()
        if words * 4 > size and header.len >= at + words * 4 then telemetry(sub, header.range(at + size, words * 4 - size)) end
      end
      pinfo.cols.info:clear_fence()
      if not whole then pinfo.cols.info = string.format("%s%s QP=0x%06x PSN %d", name, what, qp().value, psn().value) end
    end
    if pinfo.caplen < pinfo.len and not cnp and not name and not whole then -- Wireshark calls it malformed, because its padding is not there
      pinfo.cols.info:clear_fence()
      local name = tostring(opcode().display):gsub(".*%((.+)%) %- (.+) %(%d+%)$", "%1 %2")
      pinfo.cols.info = string.format("%s QP=0x%06x PSN %d (%d of %d bytes)", name, qp().value, psn().value, pinfo.caplen, pinfo.len)
    end
    if lrh() and key then
      if out then spend(pinfo, key, vl().value, words().value * 4 + 2, said) end
      if not port then follow(pinfo, string.format("%s/%s/%s/%s", key, tostring(out), tostring(qp()), tostring(opcode())), psn().value, 16777216, "PSN", true) end
    end
    if say.prefs.crc and lrh() then
      local wrong = wrong_crcs(packet().range:bytes())
      if wrong then
        sub:add_proto_expert_info(x.crc, wrong .. " is wrong")
        sub:add(s.crc_bad, true)
      end
    end
  elseif pds() then
    sub = sub or tree:add(say):set_generated()
    marked = congested()
    sub:add(s.fecn, marked)
    local back = pds_marked()
    sub:add(s.becn, back ~= nil and back.value)
    local whole = not of_guest(pinfo) and cut()
    if whole then
      sub:add(s.trimmed, true)
      sub:add(s.whole, whole)
      pinfo.cols.info:clear_fence()
      pinfo.cols.info = string.format("Trimmed, was %d bytes, flow %d, PSN %s", whole, pds_qp().value, tostring(pds_psn().value))
    end
  elseif mark_of_data() and not notified() then
    marked = mark_of_data().value
    if key and not port then follow(pinfo, string.format("%s/%s/%s", key, tostring(out), tostring(qp_of_data())), psn_of_data().value, 16777216, "PSN", true) end
  end
  local n = found[pinfo.number]
  if not marked and not n then return end
  sub = sub or tree:add(say):set_generated()
  if marked then sub:add_proto_expert_info(x.mark) end
  if not n then return end
  if n.left then sub:add(s.credit, n.left) end
  if n.stall then sub:add_proto_expert_info(x.stall, "Credit stall: " .. n.stall) end
  if n.gap then sub:add_proto_expert_info(x.gap, "Sequence gap: " .. n.gap) end
end

------------------------------------------------------------------------------
-- Where frames come from.

link:register_heuristic("udp", train)
DissectorTable.get("udp.port"):add(4793, uet)
ethertype:add(0x88B6, link)
ethertype:add(0x88B5, data)
ethertype:add(0x8808, ccupdate)
ethertype:add(0x22E9, cntag)
ethertype:add(0x22E7, cnm)
ethertype:add(0x8904, rlt)
DissectorTable.get("erf.types.type"):add(25, fcp)
register_postdissector(say)
