package sheetsemu

import "sync"

// The known fields of the replies, in the syntax of a mask; a field without
// parts may hold anything. Masks are checked against them, so that a misspelt
// path is refused as Google refuses it.

const formatFields = `(numberFormat(type,pattern),backgroundColor,backgroundColorStyle,borders,padding,` +
	`horizontalAlignment,verticalAlignment,wrapStrategy,textDirection,textFormat,hyperlinkDisplayType,textRotation)`

const extendedFields = `(numberValue,stringValue,boolValue,formulaValue,errorValue(type,message))`

const metadataFields = `(metadataId,metadataKey,metadataValue,visibility,location(locationType,spreadsheet,sheetId,` +
	`dimensionRange(sheetId,dimension,startIndex,endIndex)))`

const gridRangeFields = `(sheetId,startRowIndex,endRowIndex,startColumnIndex,endColumnIndex)`

const dimensionFields = `(hiddenByFilter,hiddenByUser,pixelSize,developerMetadata` + metadataFields + `,dataSourceColumnReference)`

const cellFields = `(userEnteredValue` + extendedFields + `,effectiveValue` + extendedFields + `,formattedValue,` +
	`userEnteredFormat` + formatFields + `,effectiveFormat` + formatFields + `,hyperlink,note,textFormatRuns,` +
	`dataValidation(condition,inputMessage,strict,showCustomUi),pivotTable,dataSourceTable,dataSourceFormula,chipRuns)`

const sheetFields = `(properties(sheetId,title,index,sheetType,gridProperties(rowCount,columnCount,frozenRowCount,` +
	`frozenColumnCount,hideGridlines,rowGroupControlAfter,columnGroupControlAfter),hidden,tabColor,tabColorStyle,` +
	`rightToLeft,dataSourceSheetProperties),data(startRow,startColumn,rowData(values` + cellFields + `),` +
	`rowMetadata` + dimensionFields + `,columnMetadata` + dimensionFields + `),merges` + gridRangeFields + `,conditionalFormats,` +
	`filterViews,protectedRanges,basicFilter,charts,bandedRanges,developerMetadata` + metadataFields + `,rowGroups,` +
	`columnGroups,slicers,tables)`

const spreadsheetFields = `(spreadsheetId,properties(title,locale,autoRecalc,timeZone,defaultFormat` + formatFields + `,` +
	`iterativeCalculationSettings,spreadsheetTheme,importFunctionsExternalUrlAccessAllowed),sheets` + sheetFields + `,` +
	`namedRanges(namedRangeId,name,range` + gridRangeFields + `),spreadsheetUrl,developerMetadata` + metadataFields + `,` +
	`dataSources,dataSourceSchedules)`

const valueRangeFields = `(range,majorDimension,values)`

const updateFields = `(spreadsheetId,updatedRange,updatedRows,updatedColumns,updatedCells,updatedData` + valueRangeFields + `)`

// replySchemas holds one schema per kind of call.
var replySchemas = sync.OnceValue(func() map[string]*mask {
	return map[string]*mask{
		KindCreate:           schema(spreadsheetFields),
		KindGet:              schema(spreadsheetFields),
		KindGetByDataFilter:  schema(spreadsheetFields),
		KindBatchUpdate:      schema(`(spreadsheetId,replies,updatedSpreadsheet` + spreadsheetFields + `)`),
		KindValuesGet:        schema(valueRangeFields),
		KindValuesUpdate:     schema(updateFields),
		KindValuesAppend:     schema(`(spreadsheetId,tableRange,updates` + updateFields + `)`),
		KindValuesClear:      schema(`(spreadsheetId,clearedRange)`),
		KindValuesBatchGet:   schema(`(spreadsheetId,valueRanges` + valueRangeFields + `)`),
		KindValuesBatchClear: schema(`(spreadsheetId,clearedRanges)`),
		KindValuesBatchUpdate: schema(`(spreadsheetId,totalUpdatedRows,totalUpdatedColumns,totalUpdatedCells,totalUpdatedSheets,responses` +
			updateFields + `)`),
		KindMetadataGet:    schema(metadataFields),
		KindMetadataSearch: schema(`(matchedDeveloperMetadata(developerMetadata` + metadataFields + `,dataFilters))`),
	}
})

func schema(fields string) *mask {
	m, ok := parseMask(fields[1 : len(fields)-1])
	if !ok {
		panic("sheetsemu: bad schema " + fields)
	}
	return m
}

// replyMask reads the fields parameter of a call.
func replyMask(kind, fields string) (*mask, error) {
	if fields == "" {
		return nil, nil
	}
	m, ok := parseMask(fields)
	if !ok {
		return nil, badMask(fields)
	}
	if bad := m.check(replySchemas()[kind], ""); bad != "" {
		return nil, badMask(bad)
	}
	return m, nil
}

// The messages whose fields a request can name for an update.
var (
	cellSchema       = schema(cellFields)
	metadataSchema   = schema(metadataFields)
	propertiesSchema = schema(`(sheetId,title,index,sheetType,gridProperties,hidden,tabColor,tabColorStyle,rightToLeft)`)
	anySchema        = &mask{}
)

// updateMask reads the fields of a request that changes something.
func updateMask(fields string, known *mask) (*mask, error) {
	if fields == "" {
		return nil, invalid("At least one field must be listed in 'fields'. (use '*' to indicate all fields)")
	}
	m, ok := parseMask(fields)
	if !ok {
		return nil, invalid("Invalid field: %s", fields)
	}
	if bad := m.check(known, ""); bad != "" {
		return nil, invalid("Invalid field: %s", bad)
	}
	return m, nil
}
