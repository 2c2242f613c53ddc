// The documents of the tests of this package, and a reader of PDF text.

package pdf_test

import (
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/pdf"
)

var day = time.Date(2026, 3, 9, 8, 30, 0, 0, time.UTC)

// words holds the texts of a test document in one language.
type words struct {
	title, subtitle, dateLine, header, footer, pageNumber string
	parties                                               []pdf.Party
	preamble                                              string
	sections                                              []pdf.Section
	annex                                                 string
	signature                                             []string
}

// agreement returns a document that uses every member.
func agreement(locale string) pdf.Document {
	w := languages[locale]
	doc := pdf.Document{
		Locale: locale, Title: w.title, Subtitle: w.subtitle, DateLine: w.dateLine, Date: day, Author: "Müller & Söhne GmbH",
		Header: w.header, Footer: w.footer, PageNumber: w.pageNumber,
		Parties: w.parties, Preamble: []pdf.Block{{Text: w.preamble}}, Sections: w.sections, NumberParagraphs: true,
	}
	doc.Annexes = []pdf.Section{{Heading: w.annex, Blocks: []pdf.Block{{Items: w.signature}}}}
	for _, p := range w.parties {
		doc.Signatures = append(doc.Signatures, pdf.Signature{Party: p.Lines[0], Labels: w.signature})
	}
	return doc
}

// several repeats sections until a document has more than one page.
func several(times int, sections ...pdf.Section) []pdf.Section {
	var all []pdf.Section
	for range times {
		all = append(all, sections...)
	}
	return all
}

var languages = map[string]words{
	"en_US": {
		title: "Agreement on the keeping of other people's files", subtitle: "Test document of the package that prints documents",
		dateLine: "March 9, 2026", header: "Agreement on the keeping of files · Müller & Søhne",
		footer: "Consign, operated by Example Limited, 1 Harbour Street, Dublin", pageNumber: "Page {page} of {pages}",
		parties: []pdf.Party{
			{Role: "The party that entrusts files", Lines: []string{"Müller & Söhne GmbH", "Œuvre-Straße 12", "80331 München",
				"株式会社サンプル (Tokyo branch)", "contact@example.com"}},
			{Role: "The party that keeps them", Lines: []string{"Example Limited", "1 Harbour Street", "Dublin", "Ireland"}},
		},
		preamble: "The first party hands files to the second so that they reach those for whom they are meant. What each of them owes the " +
			"other in doing so is written down here – once, and for as long as files are kept.",
		sections: several(4, pdf.Section{Heading: "What is kept, and for how long", Blocks: []pdf.Block{
			{Text: "Files are kept until the day that their sender names, and not a day longer. A fee of €0.10 for each gigabyte (§ 4, no. 2) is " +
				"not due before that day, whatever \"delivery\" means elsewhere; see " +
				"https://www.example.com/a/very/long/path/that/does-not-end-before/the-line-does/terms.html."},
			{Text: "The second party makes sure that:", Lettered: true, Items: []string{
				"nobody reads a file who was not meant to read it, and that whoever tries to leaves a trace that is kept for a year;",
				"a file that was sent is the file that arrives, to the last byte;",
				"its own people see names, sizes and dates only."}},
			{Text: "Nothing in this section limits what the law demands."},
		}}),
		annex: "Annex: what to sign with", signature: []string{"Place, date", "Signature", "Name and function in block letters"},
	},
	"de_DE": {
		title: "Vereinbarung über die Verwahrung fremder Dateien", dateLine: "9. März 2026", pageNumber: "Seite {page} von {pages}",
		header: "Verwahrung", footer: "Consign",
		parties: []pdf.Party{{Role: "Auftraggeber", Lines: []string{"Müller & Söhne GmbH", "Größenwahnstraße 3"}},
			{Role: "Auftragnehmer", Lines: []string{"Beispiel GmbH"}}},
		preamble: "Die „Parteien“ vereinbaren, was für die Verwahrung gilt. Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz " +
			"und Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft bleiben unberührt.",
		sections: []pdf.Section{{Heading: "Gegenstand und Dauer", Blocks: []pdf.Block{{Text: "Verwahrt wird, was übergeben wurde."}}}},
		annex:    "Anlage", signature: []string{"Ort, Datum", "Unterschrift"},
	},
	"fr_FR": {
		title: "Convention relative à la garde de fichiers", dateLine: "9 mars 2026", pageNumber: "Page {page} sur {pages}", header: "Garde",
		footer: "Consign",
		parties: []pdf.Party{{Role: "Le déposant", Lines: []string{"Œuvres réunies SARL", "8, rue de l’Hôtel-de-Ville"}},
			{Role: "Le gardien", Lines: []string{"Dépôt SA"}}},
		preamble: "Les parties conviennent de ce qui suit : la garde est « fidèle » ; elle cesse au jour dit. Coût : 10 €.",
		sections: []pdf.Section{{Heading: "Objet", Blocks: []pdf.Block{{Text: "Ça et là, où que ce fût, l’œuvre est gardée."}}}},
		annex:    "Annexe", signature: []string{"Lieu, date", "Signature"},
	},
	"ru_RU": {
		title: "Соглашение о хранении чужих файлов", subtitle: "Проверочный документ", dateLine: "9 марта 2026 г.",
		header: "Соглашение о хранении файлов", footer: "Consign, ООО «Пример», г. Москва", pageNumber: "Страница {page} из {pages}",
		parties: []pdf.Party{{Role: "Сторона, передающая файлы", Lines: []string{"ООО «Ёлки и палки»", "ул. Щорса, д. 5, к. 2", "№ 77-А"}},
			{Role: "Сторона, хранящая их", Lines: []string{"Example Limited"}}},
		preamble: "Первая сторона передаёт файлы второй, чтобы они дошли до тех, кому предназначены. Обязанности сторон изложены ниже.",
		sections: several(3, pdf.Section{Heading: "Предмет и срок", Blocks: []pdf.Block{
			{Text: "Файлы хранятся до дня, названного отправителем, и ни днём дольше. Плата в размере 10 ₽ за каждый гигабайт (§ 4, п. 2) до " +
				"этого дня не взимается — что бы ни значило слово «доставка»."},
			{Text: "Вторая сторона следит за тем, чтобы:", Lettered: true,
				Items: []string{"файл не читал никто, кроме тех, кому он предназначен;",
					"полученный файл совпадал с отправленным до последнего байта."}},
		}}),
		annex: "Приложение", signature: []string{"Место, дата", "Подпись"},
	},
	"ja_JP": {
		title: "ファイルの保管に関する契約書", subtitle: "印刷試験用の文書", dateLine: "2026年3月9日", header: "ファイルの保管に関する契約書", footer: "Consign（運営：株式会社見本、東京都千代田区）",
		pageNumber: "{page}/{pages}ページ",
		parties: []pdf.Party{{Role: "甲（預ける者）", Lines: []string{"株式会社サンプル", "東京都港区芝公園一丁目2番3号", "代表取締役 髙橋 花子"}},
			{Role: "乙（預かる者）", Lines: []string{"Example Limited", "1 Harbour Street, Dublin"}}},
		preamble: "甲は、受取人に届けるためにファイルを乙に預ける。両者が互いに負う義務を、ここに定める。なお、本書において「営業日」とは、土曜日、日曜日および祝日を除く日をいう。",
		sections: several(3, pdf.Section{Heading: "保管の対象および期間", Blocks: []pdf.Block{
			{Text: "乙は、送信者が指定した日までファイルを保管し、その日を過ぎて保管してはならない。1ギガバイトあたり10円（第4条第2項）の料金は、その日より前には発生しない。「引渡し」という語が他の文書においてどのような意味をもつとしても、この限りではない。チェックリストやデータベースのバックアップについても、同様とする。"},
			{Text: "乙は、次の各号に掲げる事項を確保する。", Lettered: true, Items: []string{"読むことを予定されていない者が、ファイルを読まないこと。", "届いたファイルが、送られたファイルと最後の1バイトまで一致すること。"}},
		}}),
		annex: "別紙", signature: []string{"場所、日付", "署名"},
	},
	"ko_KR": {
		title: "파일 보관에 관한 계약서", subtitle: "인쇄 시험용 문서", dateLine: "2026년 3월 9일", header: "파일 보관에 관한 계약서", footer: "Consign (운영: 주식회사 견본, 서울특별시)",
		pageNumber: "{pages}쪽 중 {page}쪽",
		parties: []pdf.Party{{Role: "맡기는 당사자", Lines: []string{"주식회사 보기", "서울특별시 중구 세종대로 110", "대표이사 홍길동(洪吉童)"}},
			{Role: "맡는 당사자", Lines: []string{"Example Limited", "1 Harbour Street, Dublin"}}},
		preamble: "첫째 당사자는 받을 사람에게 전하기 위하여 파일을 둘째 당사자에게 맡긴다. 서로에게 지는 의무는 아래와 같다.",
		sections: several(3, pdf.Section{Heading: "보관의 대상과 기간", Blocks: []pdf.Block{
			{Text: "파일은 보낸 사람이 정한 날까지 보관하며, 그날을 넘겨 보관하지 아니한다. 1기가바이트마다 10원(제4조 제2항)의 요금은 그날 이전에는 발생하지 않으며, 다른 곳에서 \"인도\"라는 말이 무엇을 뜻하든 그러하다. " +
				"똠방각하처럼 드문 음절도 인쇄되어야 한다."},
			{Text: "둘째 당사자는 다음을 보장한다.", Lettered: true, Items: []string{"읽도록 정해지지 않은 사람이 파일을 읽지 않을 것", "받은 파일이 보낸 파일과 마지막 한 바이트까지 같을 것"}},
		}}),
		annex: "별지", signature: []string{"장소, 날짜", "서명"},
	},
	"zh_CN": {
		title: "文件保管协议", subtitle: "打印测试文件", dateLine: "2026年3月9日", header: "文件保管协议", footer: "Consign（运营方：示例有限公司，上海市）",
		pageNumber: "第 {page} 页，共 {pages} 页",
		parties: []pdf.Party{{Role: "甲方（交付文件的一方）", Lines: []string{"上海示例科技有限公司", "上海市浦东新区世纪大道100号", "法定代表人：张伟"}},
			{Role: "乙方（保管文件的一方）", Lines: []string{"Example Limited", "1 Harbour Street, Dublin"}}},
		preamble: "甲方将文件交给乙方，以便送达收件人。双方在此过程中的义务约定如下。",
		sections: several(3, pdf.Section{Heading: "保管的对象与期限", Blocks: []pdf.Block{
			{Text: "乙方应将文件保管至发送人指定之日，不得逾期保管。每千兆字节10元的费用（第四条第二款）在该日之前不予收取，无论“交付”一词在其他文件中作何解释。乙方的工作人员只能看到文件的名称、大小和日期；任何试图读取文件内容的行为都将留下记录，并保存一年。"},
			{Text: "乙方确保：", Lettered: true, Items: []string{"未被指定的人不得阅读文件；", "收到的文件与发送的文件完全一致，直至最后一个字节。"}},
		}}),
		annex: "附件", signature: []string{"地点、日期", "签字"},
	},
	"zh_TW": {
		title: "檔案保管契約書", subtitle: "列印測試文件", dateLine: "2026年3月9日", header: "檔案保管契約書", footer: "Consign（營運者：範例股份有限公司，臺北市）",
		pageNumber: "第 {page} 頁，共 {pages} 頁",
		parties: []pdf.Party{{Role: "甲方（交付檔案之一方）", Lines: []string{"範例股份有限公司", "臺北市信義區市府路45號", "負責人：陳淑芬"}},
			{Role: "乙方（保管檔案之一方）", Lines: []string{"Example Limited", "1 Harbour Street, Dublin"}}},
		preamble: "甲方將檔案交予乙方，以便送達收件人。雙方就此所負之義務，約定如下。",
		sections: several(3, pdf.Section{Heading: "保管之標的與期間", Blocks: []pdf.Block{
			{Text: "乙方應將檔案保管至寄件人指定之日，逾期不得繼續保管。每十億位元組新臺幣10元之費用（第四條第二項），於該日之前不得收取，無論「交付」一詞於其他文件中作何解釋。乙方之人員僅得知悉檔案之名稱、大小及日期；凡意圖讀取檔案內容者，均留存紀錄一年。"},
			{Text: "乙方應確保：", Lettered: true, Items: []string{"未經指定之人不得閱讀檔案；", "收到之檔案與寄出之檔案完全一致，直至最後一個位元組。"}},
		}}),
		annex: "附件", signature: []string{"地點、日期", "簽名"},
	},
}

// long is a document whose page numbers have different numbers of digits.
func long() pdf.Document {
	doc := agreement("en_US")
	doc.Sections = nil
	for range 60 {
		doc.Sections = append(doc.Sections, pdf.Section{Heading: "Heading that stays with what follows", Blocks: []pdf.Block{
			{Text: strings.Repeat("Some words that fill lines and pages. ", 20)}, {Items: []string{strings.Repeat("item ", 40), "short"}}}})
	}
	return doc
}
